import { mkdir } from 'node:fs/promises';
import { PRIVATE_FOLDER } from '../adapters/embedded/data-directory.ts';
import { connectToOwner, OwnerGone } from '../adapters/embedded/socket/socket-client.ts';
import { workerSocketPath } from '../adapters/embedded/socket/socket-path.ts';
import { type Config, ConfigError } from '../config.ts';
import type { BackendModule, WorkerBackend, WorkerBackendDeps } from './backend.ts';
import { loadResults } from './results-backends.ts';
import { workerSiteTools } from './site-data.ts';

/** A data directory that one process owns, with a queue in that process and a socket for its workers. */
export const EMBEDDED_BACKEND: BackendModule<'embedded'> = {
  slotUnit: 'items',
  describe: ({ dataDir }) => ({ data_dir: dataDir }),
  openWorker,
  isControllerGone: (error) => error instanceof OwnerGone,

  async open(config, onTrouble) {
    // A worker does not need SQLite and what is built on it.
    const { openOwner } = await import('./embedded-owner.ts');
    return await openOwner(config, onTrouble);
  },

  async connectHeartbeat({ dataDir }, { workerId, clock, signal }) {
    return await connectToOwner({
      ...{ socketPath: workerSocketPath(dataDir), workerId, role: 'heartbeat', clock, signal },
    });
  },

  async inspect({ dataDir }, { create }) {
    if (create) {
      throw new ConfigError('--create is for TRAWL_BACKEND=aws: a data directory is created when needed');
    }
    const { checkDataDir, checkLedger } = await import('./data-directory-checks.ts');
    return [await checkDataDir(dataDir), checkLedger(dataDir)];
  },
};

/** Throws OwnerGone while there is no controller. */
async function openWorker(config: Config, { id, clock, stop }: WorkerBackendDeps): Promise<WorkerBackend> {
  // A worker may start before its first controller.
  await mkdir(config.dataDir, { recursive: true, mode: PRIVATE_FOLDER });
  const socketPath = workerSocketPath(config.dataDir);
  const owner = await connectToOwner({ socketPath, workerId: id, role: 'main', clock, signal: stop });
  // After the owner, which creates the store if it is new.
  const results = await (await loadResults(config)).open(config, clock, 'guest').catch(async (error: unknown) => {
    await owner.close();
    throw error;
  });
  return {
    ...owner,
    async close() {
      await owner.close();
      results.close();
    },
    store: results.store,
    ...workerSiteTools(owner.siteData, results.store),
    // The owner combines the settles of all its workers.
    settleEveryMs: 0,
    // A change takes effect within a second.
    pausesEveryMs: 500,
    shareLeaseMs: 1000,
    orderGoodMs: 500,
    seenEveryMs: 1000,
  };
}
