import type { Config } from '../config.ts';
import type { ResultsKind, ResultsModule } from './results-backend.ts';

/** Every way of storing results. Each is loaded only by processes that use it. */
const RESULTS: { readonly [Kind in ResultsKind]: () => Promise<ResultsModule<Kind>> } = {
  local: async () => (await import('./local-results.ts')).LOCAL_RESULTS_MODULE,
  s3: async () => (await import('./s3-results.ts')).S3_RESULTS_MODULE,
};

/** The store for the results of this config, which must be passed to its methods. */
export function loadResults({ results }: Pick<Config, 'results'>): Promise<ResultsModule> {
  // The type checker does not see that the kind of the row is that of the config.
  return RESULTS[results.kind]() as Promise<ResultsModule>;
}
