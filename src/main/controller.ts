import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { loadBackend } from './backends.ts';
import { openEngine } from './engine.ts';
import { loadResults } from './results-backends.ts';

/** A controller process: the engine, its API and its worker processes. Ledger, queue and store stay inside. */
export async function openController(config: Config, log: Logger) {
  const { listen, startWorkers, stop } = await openEngine(config, log);
  return { listen: () => listen(), startWorkers: () => startWorkers(), stop };
}

/** Where jobs and results are kept, as fields for the log. */
export async function describeStorage(config: Config): Promise<Readonly<Record<string, string>>> {
  const [backend, results] = await Promise.all([loadBackend(config), loadResults(config)]);
  return { ...backend.describe(config), ...results.describe(config) };
}
