import { OwnerGone } from '../adapters/embedded/socket/owner-line.ts';
import { workerSocketPath } from '../adapters/embedded/socket/socket-path.ts';
import type { BackendModule } from './backend.ts';

/**
 * A data directory that one process owns, with a queue in that process and a socket for its workers. Each part is loaded when it
 * is opened: a worker does not need SQLite and what is built on it, and its heartbeat thread needs only a line to the owner.
 */
export const EMBEDDED_BACKEND: BackendModule<'embedded'> = {
  slotUnit: 'items',
  describe: ({ dataDir }) => ({ data_dir: dataDir }),
  isControllerGone: (error) => error instanceof OwnerGone,

  async open(config, onTrouble) {
    const { openOwner } = await import('./embedded-owner.ts');
    return await openOwner(config, onTrouble);
  },

  async openWorker(config, deps) {
    const { openEmbeddedWorker } = await import('./embedded-worker.ts');
    return await openEmbeddedWorker(config, deps);
  },

  async connectHeartbeat({ dataDir }, deps) {
    const { connectHeartbeat } = await import('../adapters/embedded/socket/heartbeat-connection.ts');
    return await connectHeartbeat({ socketPath: workerSocketPath(dataDir), ...deps });
  },

  async inspect({ dataDir }, options) {
    const { inspectDataDir } = await import('./data-directory-checks.ts');
    return await inspectDataDir(dataDir, options);
  },
};
