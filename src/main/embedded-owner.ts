import { prepareDataDirectory } from '../adapters/embedded/data-directory.ts';
import { DiskReserve } from '../adapters/embedded/disk-reserve.ts';
import { EmbeddedHostPauses } from '../adapters/embedded/host-pauses.ts';
import { EmbeddedItemWaits } from '../adapters/embedded/item-waits.ts';
import { openEmbeddedLedger } from '../adapters/embedded/ledger.ts';
import { workerSocketPath } from '../adapters/embedded/socket/socket-path.ts';
import { serveWorkers } from '../adapters/embedded/socket/socket-server.ts';
import { EmbeddedWorkQueue } from '../adapters/embedded/work-queue.ts';
import { systemClock } from '../adapters/system/clock.ts';
import type { Config } from '../config.ts';
import type { StoredArtifact } from '../domain/artifact.ts';
import type { Backend, OnTrouble } from './backend.ts';
import { CHILD } from './child-name.ts';
import { recordingTools } from './recording-tools.ts';
import { loadResults } from './results-backends.ts';
import { servedSiteData, siteTools } from './site-data.ts';

/** Ledger and results of a data directory, without anything running. The process that opens them owns the directory. */
export async function openStorage(config: Config) {
  const clock = systemClock();
  prepareDataDirectory(config.dataDir);
  const results = await (await loadResults(config)).open(config, clock, 'owner');
  const { store, links } = results;
  const reserve = new DiskReserve(config.dataDir);
  const opened = openEmbeddedLedger({
    dataDir: config.dataDir,
    clock,
    leaseGraceMs: config.leaseMs,
    gatherMs: 8,
    diedWithOwner: (worker) => worker.startsWith(CHILD),
  });
  const { ledger, leadership, hostSettings, hostShares, hostRecords, stepRecords, runs, ...embedded } = opened;
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
    pathOf: (artifact: StoredArtifact) => results.pathOf(artifact),
    ledger,
    leadership,
    hostSettings,
    hostShares,
    hostRecords,
    stepRecords,
    runs,
    ...siteTools(opened, store),
    ...recordingTools(opened),
    siteData: servedSiteData(opened),
    hasItemManifests: results.hasItemManifests,
    check: (artifact: StoredArtifact) => results.check(artifact),
    async makeRoom() {
      // Another process may own a directory that replaced ours, and the reserve in it.
      if (embedded.isInPlace()) await reserve.giveUp();
    },
    async probe() {
      await embedded.probe();
      await reserve.layUp();
      await results.probe();
    },
    async sweep() {
      await Promise.all([results.sweep(), runs.sweep()]);
    },
    sweepEvery: results.sweepEvery,
    async close() {
      await embedded.close();
      results.close();
    },
  };
}

/** The controller's side: ledger, results and a queue in this process, and a socket for its workers. */
export async function openOwner(config: Config, onTrouble: OnTrouble): Promise<Backend> {
  const storage = await openStorage(config);
  const { clock, ledger, hostSettings, hostShares, hostRecords, stepRecords, siteData, recordings } = storage;
  const closing = new AbortController();
  const sweeping = storage.sweepEvery(SWEEP_EVERY_MS, closing.signal, (error) => onTrouble('sweep', error));
  const queue = new EmbeddedWorkQueue(clock);
  const hostPauses = new EmbeddedHostPauses();
  const itemWaits = new EmbeddedItemWaits();
  return {
    ...storage,
    queue,
    hostPauses,
    itemWaits,
    // Only one process can own the directory, so its successor need not wait for the lead to expire.
    holder: 'the owner of the data directory',
    settings: {
      leaseMs: config.leaseMs,
      // The queue is in this process and loses nothing while it lives; what it had when it died is pending again.
      lostAfterMs: 10 * 60_000,
      leadMs: 15_000,
      // One process owns the data directory: a leader in another process is dead.
      handoverMs: 0,
      reapMs: Math.min(500, config.leaseMs / 4),
      pollMs: 5000,
      probeMs: 1000,
      itemsPerBatch: 1,
      itemManifests: storage.hasItemManifests,
    },
    // Everything that happens to a job happens here and is reported; only items that wait for another try must be
    // looked up.
    feedSettings: { idleMs: 1000 },
    async acceptWorkers(onWorker) {
      const socketPath = workerSocketPath(config.dataDir);
      const reports = { hostPauses, hostSettings, hostShares, hostRecords, stepRecords };
      const served = { ...reports, ledger, queue, itemWaits, siteData, recordings };
      const server = await serveWorkers({ ...served, socketPath, clock, onWorker });
      // Children connect like all others, and the end of their connection is the first sign that one died.
      return { heardOfChild: () => {}, lanes: () => server.lanes(), close: () => server.close() };
    },
    async close() {
      closing.abort();
      await sweeping;
      await storage.close();
    },
  };
}

/** Killed workers leave files behind, and a service may run for months. */
const SWEEP_EVERY_MS = 15 * 60_000;
