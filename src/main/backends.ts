import type { Config } from '../config.ts';
import type { BackendKind, BackendModule } from './backend.ts';

/** Every kind of backend. Each is loaded only by processes that use it: the AWS SDK is larger than everything else. */
const BACKENDS: { readonly [Kind in BackendKind]: () => Promise<BackendModule<Kind>> } = {
  embedded: async () => (await import('./embedded-backend.ts')).EMBEDDED_BACKEND,
  aws: async () => (await import('./aws-backend.ts')).AWS_BACKEND,
};

/** The backend for the jobs of this config, which must be passed to its methods. */
export function loadBackend({ backend }: Pick<Config, 'backend'>): Promise<BackendModule> {
  // The type checker does not see that the kind of the row is that of the config.
  return BACKENDS[backend.kind]() as Promise<BackendModule>;
}
