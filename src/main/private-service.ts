import { listenPrivately } from '../adapters/embedded/socket/private-socket.ts';
import { apiSocketPath } from '../adapters/embedded/socket/socket-path.ts';
import type { Config } from '../config.ts';
import type { ApiAddress } from '../contract/client/api-client.ts';
import type { ClientClock } from '../contract/client/client-clock.ts';
import { finishedOf } from '../domain/counts.ts';
import type { JobRecord } from '../domain/job.ts';
import type { Lane } from '../domain/lane.ts';
import type { PoolChange } from '../worker/pool.ts';
import { type Engine, openEngine } from './engine.ts';
import { openLog } from './log.ts';
import { socketFetch } from './socket-fetch.ts';

/** A service for one command, in its own process: the same API as that of `trawl serve`, for this user alone. */
export interface PrivateService {
  readonly address: ApiAddress;
  readonly clock: ClientClock;
  /** How many items of its newest jobs were finished before any worker was started, by the id of the job. */
  readonly finishedBefore: ReadonlyMap<string, number>;
  /** For a service that may have had nothing to do when it was opened; otherwise they are already running. */
  startWorkers(): void;
  /** Ends the worker processes: they finish or give back what they have. */
  stopWorkers(): Promise<void>;
  stop(): Promise<void>;
}

export interface PrivateWorkers {
  readonly lane: Lane;
  /** Called for a worker process that ends without being asked to. */
  readonly onDeath: (death: WorkerDeath) => void;
  /** Whether the command is about this unfinished job. Workers would also process any other. */
  readonly isWanted: (job: Pick<JobRecord, 'jobId' | 'labels'>) => boolean;
}

export type WorkerDeath = Extract<PoolChange, { readonly kind: 'died' }>;

/** The data directory of `config` must not be in use: this process owns it until `stop`. */
export async function openPrivateService(
  config: Config,
  { lane, onDeath, isWanted }: PrivateWorkers,
): Promise<PrivateService> {
  const log = openLog(config);
  const engine = await openEngine(config, log);
  let pool: ReturnType<typeof engine.startWorkers> | null = null;
  const startWorkers = () => {
    if (pool !== null) return;
    pool = engine.startWorkers([lane]);
    pool.onChange((change) => {
      if (change.kind === 'died' && !change.wasAsked) onDeath(change);
    });
  };
  /** Workers that leave because they are asked to are not worth a line. */
  const beQuiet = () => {
    log.level = 'error';
  };
  const stop = async () => {
    beQuiet();
    await engine.stop();
  };
  try {
    const jobs = await newestJobs(engine);
    const finishedBefore = new Map(jobs.map(({ jobId, counts }) => [jobId, finishedOf(counts)]));
    // They take as long to start as the API, and can start in parallel.
    if (isWorkCertain(jobs, isWanted)) startWorkers();
    const address = await listen(engine, config);
    return { address, clock: engine.clock, finishedBefore, startWorkers, stopWorkers, stop };
  } catch (error) {
    await stop();
    throw error;
  }

  async function stopWorkers(): Promise<void> {
    beQuiet();
    await pool?.stop(config.drainGraceMs + 5000);
  }
}

const JOBS = 100;

async function newestJobs({ ledger }: Engine): Promise<readonly JobRecord[]> {
  const { entries } = await ledger.jobs({ status: null, page: { after: null, limit: JOBS } });
  return entries;
}

/** Whether the data directory has no jobs yet, or unfinished ones that are all wanted. */
function isWorkCertain(jobs: readonly JobRecord[], isWanted: PrivateWorkers['isWanted']): boolean {
  const unfinished = jobs.filter(({ status }) => status !== 'completed' && status !== 'cancelled');
  return jobs.length === 0 || (unfinished.length > 0 && unfinished.every(isWanted));
}

async function listen(engine: Engine, { dataDir, maxBodyBytes }: Config): Promise<ApiAddress> {
  const socketPath = apiSocketPath(dataDir);
  const url = await engine.listen({
    ...{ host: 'localhost', port: 0, allowedHosts: [], maxBodyBytes },
    // The mode of the socket keeps other users out. Keys are for a server that they can reach.
    ...{ apiKey: null, readApiKey: null },
    listenPrivately: (server) => listenPrivately(server, socketPath),
  });
  return { url, apiKey: null, fetch: socketFetch(socketPath) };
}
