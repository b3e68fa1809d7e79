import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DiskReserve } from './adapters/embedded/disk-reserve.ts';
import { openEmbeddedLedger } from './adapters/embedded/ledger.ts';
import { openFileResultStore } from './adapters/embedded/result-store.ts';
import { connectToOwner } from './adapters/embedded/socket-client.ts';
import { workerSocketPath } from './adapters/embedded/socket-path.ts';
import { serveWorkers } from './adapters/embedded/socket-server.ts';
import { EmbeddedWorkQueue } from './adapters/embedded/work-queue.ts';
import { systemClock } from './adapters/system/clock.ts';
import type { Config } from './config.ts';
import type { Clock } from './ports/clock.ts';
import { type Backend, CHILD, type HeartbeatArguments, type WorkerBackend } from './wiring-backend.ts';
import type { HeartbeatConnection } from './worker/heartbeat-thread.ts';

/** Ledger and results of a data directory, and nothing that runs. Whoever has them owns the directory. */
export async function openStorage(config: Config) {
  const clock = systemClock();
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  const store = await openFileResultStore(join(config.dataDir, 'results'), { clock });
  const reserve = new DiskReserve(config.dataDir);
  const { ledger, leadership, ...embedded } = openEmbeddedLedger({
    dataDir: config.dataDir,
    clock,
    leaseGraceMs: config.leaseMs,
    gatherMs: 8,
    diedWithOwner: (worker) => worker.startsWith(CHILD),
  });
  try {
    await embedded.recoverAfterMachineCrash((artifact) => store.check(artifact));
  } catch (error) {
    await embedded.close();
    throw error;
  }
  return {
    clock,
    store,
    ledger,
    leadership,
    makeRoom: () => reserve.giveUp(),
    async probe() {
      await reserve.layUp();
      await embedded.probe();
      await store.probe();
    },
    close: () => embedded.close(),
  };
}

/** A data directory, with a queue in this process and a socket for its workers. */
export async function openEmbeddedBackend(config: Config): Promise<Backend> {
  const storage = await openStorage(config);
  const { clock, ledger, store } = storage;
  const queue = new EmbeddedWorkQueue(clock);
  return {
    ...storage,
    queue,
    links: null,
    // Only one process can own the directory, so that its successor need not wait for its lead to run out.
    holder: 'the owner of the data directory',
    settings: {
      leaseMs: config.leaseMs,
      // The queue is in this process and loses nothing while it lives; what it had when it died is pending again.
      lostAfterMs: 10 * 60_000,
      leadMs: 15_000,
      reapMs: Math.min(500, config.leaseMs / 4),
      pollMs: 5000,
      probeMs: 1000,
      itemsPerBatch: 1,
    },
    // Whatever happens to a job, happens here and is heard.
    feedSettings: {},
    async sweep() {
      await store.sweep();
    },
    async acceptWorkers(onWorker) {
      const socketPath = workerSocketPath(config.dataDir);
      const server = await serveWorkers({ ledger, queue, socketPath, clock, onWorker });
      // Children greet like all others, and a connection that ends says sooner than anybody that one died.
      return { heardOfChild: () => {}, close: () => server.close() };
    },
  };
}

/** The results of a data directory that somebody else may own; null if there are none. */
export async function openFileResults(config: Config) {
  const folder = join(config.dataDir, 'results');
  // Opening a store makes its folder, and a check makes nothing.
  if (!existsSync(folder)) return null;
  return openFileResultStore(folder, { clock: systemClock() });
}

/** Throws OwnerGone while there is no controller. */
export async function openEmbeddedWorker(
  config: Config,
  { id, clock, stop }: { readonly id: string; readonly clock: Clock; readonly stop: AbortSignal },
): Promise<WorkerBackend> {
  const store = await openFileResultStore(join(config.dataDir, 'results'), { clock });
  const socketPath = workerSocketPath(config.dataDir);
  const owner = await connectToOwner({ socketPath, workerId: id, role: 'main', clock, signal: stop });
  return {
    ...owner,
    store,
    heartbeatWith: { kind: 'embedded', socketPath, workerId: id },
    // The owner gathers what all of its workers settle.
    settleEveryMs: 0,
  };
}

export function connectEmbeddedHeartbeat(
  { socketPath, workerId }: Extract<HeartbeatArguments, { kind: 'embedded' }>,
  clock: Clock,
  signal: AbortSignal,
): Promise<HeartbeatConnection> {
  return connectToOwner({ socketPath, workerId, role: 'heartbeat', clock, signal });
}
