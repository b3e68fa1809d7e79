import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { PRIVATE_FOLDER, prepareDataDirectory } from './adapters/embedded/data-directory.ts';
import { DiskReserve } from './adapters/embedded/disk-reserve.ts';
import { EmbeddedHostPauses } from './adapters/embedded/host-pauses.ts';
import { openEmbeddedLedger } from './adapters/embedded/ledger.ts';
import { openFileResultStore } from './adapters/embedded/result-store.ts';
import { connectToOwner } from './adapters/embedded/socket/socket-client.ts';
import { workerSocketPath } from './adapters/embedded/socket/socket-path.ts';
import { serveWorkers } from './adapters/embedded/socket/socket-server.ts';
import { EmbeddedWorkQueue } from './adapters/embedded/work-queue.ts';
import { systemClock } from './adapters/system/clock.ts';
import type { Config } from './config.ts';
import type { StoredArtifact } from './domain/artifact.ts';
import type { Clock } from './ports/clock.ts';
import { type Backend, CHILD, type HeartbeatArguments, type WorkerBackend } from './wiring-backend.ts';
import { openResults, resultsFolder } from './wiring-results.ts';
import type { HeartbeatConnection } from './worker/heartbeat-thread.ts';

/** Ledger and results of a data directory, and nothing that runs. Whoever has them owns the directory. */
export async function openStorage(config: Config) {
  const clock = systemClock();
  prepareDataDirectory(config.dataDir);
  const results = await openResults(config, clock, 'owner');
  const { store, links } = results;
  const reserve = new DiskReserve(config.dataDir);
  const { ledger, leadership, ...embedded } = openEmbeddedLedger({
    dataDir: config.dataDir,
    clock,
    leaseGraceMs: config.leaseMs,
    gatherMs: 8,
    diedWithOwner: (worker) => worker.startsWith(CHILD),
  });
  try {
    await embedded.recoverAfterMachineCrash((artifact) => results.check(artifact));
  } catch (error) {
    await embedded.close();
    results.close();
    throw error;
  }
  return {
    clock,
    store,
    links,
    ledger,
    leadership,
    check: (artifact: StoredArtifact) => results.check(artifact),
    async makeRoom() {
      // Another process may own a directory that was put in the place of ours, and the reserve in it.
      if (embedded.isInPlace()) await reserve.giveUp();
    },
    async probe() {
      await embedded.probe();
      await reserve.layUp();
      await results.probe();
    },
    sweep: () => results.sweep(),
    sweepEvery: results.sweepEvery,
    async close() {
      await embedded.close();
      results.close();
    },
  };
}

/** A data directory, with a queue in this process and a socket for its workers. */
export async function openEmbeddedBackend(
  config: Config,
  onTrouble: (where: string, error: unknown) => void,
): Promise<Backend> {
  const storage = await openStorage(config);
  const { clock, ledger } = storage;
  const closing = new AbortController();
  const sweeping = storage.sweepEvery(SWEEP_EVERY_MS, closing.signal, (error) => onTrouble('sweep', error));
  const queue = new EmbeddedWorkQueue(clock);
  const hostPauses = new EmbeddedHostPauses();
  return {
    ...storage,
    queue,
    hostPauses,
    // Only one process can own the directory, so that its successor need not wait for its lead to run out.
    holder: 'the owner of the data directory',
    settings: {
      leaseMs: config.leaseMs,
      // The queue is in this process and loses nothing while it lives; what it had when it died is pending again.
      lostAfterMs: 10 * 60_000,
      leadMs: 15_000,
      // One process owns the data directory: whoever led in another is dead.
      handoverMs: 0,
      reapMs: Math.min(500, config.leaseMs / 4),
      pollMs: 5000,
      probeMs: 1000,
      itemsPerBatch: 1,
      itemManifests: config.results.kind === 'local',
    },
    // Whatever happens to a job, happens here and is heard.
    feedSettings: {},
    async acceptWorkers(onWorker) {
      const socketPath = workerSocketPath(config.dataDir);
      const server = await serveWorkers({ ledger, queue, hostPauses, socketPath, clock, onWorker });
      // Children greet like all others, and a connection that ends says sooner than anybody that one died.
      return { heardOfChild: () => {}, lanes: () => server.lanes(), close: () => server.close() };
    },
    async close() {
      closing.abort();
      await sweeping;
      await storage.close();
    },
  };
}

/** Workers that were killed leave files, and a service may run for months. */
const SWEEP_EVERY_MS = 15 * 60_000;

/** The results of a data directory that somebody else may own; null if there are none. */
export async function openFileResults(config: Config) {
  const folder = resultsFolder(config);
  // Opening a store makes its folder, and a check makes nothing.
  if (!existsSync(folder)) return null;
  return openFileResultStore(folder, { clock: systemClock(), opening: { as: 'guest' } });
}

/** Throws OwnerGone while there is no controller. */
export async function openEmbeddedWorker(
  config: Config,
  { id, clock, stop }: { readonly id: string; readonly clock: Clock; readonly stop: AbortSignal },
): Promise<WorkerBackend> {
  // A worker may be there before its first controller.
  await mkdir(config.dataDir, { recursive: true, mode: PRIVATE_FOLDER });
  const socketPath = workerSocketPath(config.dataDir);
  const owner = await connectToOwner({ socketPath, workerId: id, role: 'main', clock, signal: stop });
  // After the owner, who makes the store if it is new.
  const results = await openResults(config, clock, 'guest').catch(async (error: unknown) => {
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
    heartbeatWith: { kind: 'embedded', socketPath, workerId: id },
    // The owner gathers what all of its workers settle.
    settleEveryMs: 0,
    pausesEveryMs: 1000,
  };
}

export function connectEmbeddedHeartbeat(
  { socketPath, workerId }: Extract<HeartbeatArguments, { kind: 'embedded' }>,
  clock: Clock,
  signal: AbortSignal,
): Promise<HeartbeatConnection> {
  return connectToOwner({ socketPath, workerId, role: 'heartbeat', clock, signal });
}
