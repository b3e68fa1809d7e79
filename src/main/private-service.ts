import { listenPrivately } from '../adapters/embedded/socket/private-socket.ts';
import { apiSocketPath } from '../adapters/embedded/socket/socket-path.ts';
import type { Config } from '../config.ts';
import type { ApiAddress } from '../contract/client/api-client.ts';
import type { ClientClock } from '../contract/client/client-clock.ts';
import type { Lane } from '../domain/lane.ts';
import type { PoolChange } from '../worker/pool.ts';
import { openEngine } from './engine.ts';
import { openLog } from './log.ts';
import { socketFetch } from './socket-fetch.ts';

/** A service of one command, in its own process: the same API as that of `trawl serve`, for this user alone. */
export interface PrivateService {
  readonly address: ApiAddress;
  readonly clock: ClientClock;
  /** Starts the worker processes of this lane; `onDeath` is called for each that ends without being asked to. */
  startWorkers(lane: Lane, onDeath: (death: WorkerDeath) => void): void;
  /** Ends the worker processes: they finish or give back what they have. */
  stopWorkers(): Promise<void>;
  stop(): Promise<void>;
}

export type WorkerDeath = Extract<PoolChange, { readonly kind: 'died' }>;

/** The data directory of `config` must not be in use: this process owns it until `stop`. */
export async function openPrivateService(config: Config): Promise<PrivateService> {
  const log = openLog(config);
  const engine = await openEngine(config, log);
  const socketPath = apiSocketPath(config.dataDir);
  const listen = engine.listen({
    ...{ host: 'localhost', port: 0, allowedHosts: [], maxBodyBytes: config.maxBodyBytes },
    // The mode of the socket keeps others out: keys are for a server that can be reached by them.
    ...{ apiKey: null, readApiKey: null },
    listen: (server) => listenPrivately(server, socketPath),
  });
  const url = await listen.catch(async (error: unknown) => {
    await engine.stop();
    throw error;
  });
  let pool: ReturnType<typeof engine.startWorkers> | null = null;
  /** That workers leave because they are asked to is not worth a line. */
  const beQuiet = () => {
    log.level = 'error';
  };
  return {
    address: { url, apiKey: null, fetch: socketFetch(socketPath) },
    clock: engine.clock,
    startWorkers(lane, onDeath) {
      pool = engine.startWorkers([lane]);
      pool.onChange((change) => {
        if (change.kind === 'died' && !change.wasAsked) onDeath(change);
      });
    },
    async stopWorkers() {
      beQuiet();
      await pool?.stop(config.drainGraceMs + 5000);
    },
    async stop() {
      beQuiet();
      await engine.stop();
    },
  };
}
