import { type Config, ConfigError } from '../config.ts';
import { checkListening, RefusedToListen } from '../controller/api/listening.ts';

/** Call before anything is opened: throws a ConfigError if the API may not listen where the settings say. */
export function checkApiAddress(config: Config): void {
  try {
    checkListening(config);
  } catch (error) {
    refuseAddress(error);
  }
}

export function refuseAddress(error: unknown): never {
  throw error instanceof RefusedToListen ? new ConfigError(error.message) : error;
}
