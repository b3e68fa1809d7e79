import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { resultRows } from '../controller/results/result-rows.ts';
import { type JobEvent, OPEN_MS } from '../domain/job.ts';
import { loadBackend } from './backends.ts';
import { type Engine, openEngine } from './engine.ts';
import { loadResults } from './results-backends.ts';

export type OpenController = Awaited<ReturnType<typeof openController>>;

/** How a command may move a job on. */
type Change = Extract<JobEvent, { readonly kind: 'policy' | 'resume' | 'start' }>;

/** A controller process: the engine, its API and its worker processes, as use cases. Ledger, queue and store stay inside. */
export async function openController(config: Config, log: Logger) {
  const engine = await openEngine(config, log);
  const { clock, ledger, store, events } = engine;
  const { submit, importItems, retry, listen, startWorkers, stop } = engine;
  return {
    ...{ clock, submit, importItems, retry, listen, startWorkers, stop },
    findJob: (jobId: string) => ledger.job(jobId),
    /** The first jobs of the ledger, in the order of its list. */
    async firstJobs(limit: number) {
      return (await ledger.jobs({ status: null, page: { after: null, limit } })).entries;
    },
    /** Keeps a job from completing while more items are on their way; each chunk of an import extends the time. */
    async keepOpen(jobId: string) {
      await ledger.addItems(jobId, [], clock.now() + OPEN_MS, clock.now());
    },
    async changeJob(jobId: string, change: Change) {
      await ledger.changeJob(jobId, change, clock.now());
    },
    failureGroups: (jobId: string, limit: number) => ledger.failureGroups(jobId, limit),
    /** A row per item of the job, in their order. */
    resultRows: (jobId: string) => resultRows({ ledger, store }, jobId),
    /** Calls `listener` for whatever happens in the engine, until the returned function is called. */
    watch: (listener: Parameters<Engine['events']['subscribe']>[0]) => events.subscribe(listener),
  };
}

/** Where jobs and results are kept, as fields for the log. */
export async function describeStorage(config: Config): Promise<Readonly<Record<string, string>>> {
  const [backend, results] = await Promise.all([loadBackend(config), loadResults(config)]);
  return { ...backend.describe(config), ...results.describe(config) };
}
