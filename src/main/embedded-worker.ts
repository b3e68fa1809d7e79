import { mkdir } from 'node:fs/promises';
import { PRIVATE_FOLDER } from '../adapters/embedded/data-directory.ts';
import { connectToOwner } from '../adapters/embedded/socket/socket-client.ts';
import { workerSocketPath } from '../adapters/embedded/socket/socket-path.ts';
import type { Config } from '../config.ts';
import type { WorkerBackend, WorkerBackendDeps } from './backend.ts';
import { loadResults } from './results-backends.ts';
import { workerSiteTools } from './site-data.ts';

/** Throws OwnerGone while there is no controller. */
export async function openEmbeddedWorker(
  config: Config,
  { id, clock, stop }: WorkerBackendDeps,
): Promise<WorkerBackend> {
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
    // What a killed worker has to do again. All that its batches finish in this time is one frame and one transaction.
    settleEveryMs: 100,
    // A change takes effect within a second.
    pausesEveryMs: 500,
    shareLeaseMs: 1000,
    orderGoodMs: 500,
    seenEveryMs: 1000,
  };
}
