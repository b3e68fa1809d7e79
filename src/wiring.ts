import { hash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Logger, pino } from 'pino';
import { DiskReserve } from './adapters/embedded/disk-reserve.ts';
import { openEmbeddedLedger } from './adapters/embedded/ledger.ts';
import { openFileResultStore } from './adapters/embedded/result-store.ts';
import { connectToOwner } from './adapters/embedded/socket-client.ts';
import { workerSocketPath } from './adapters/embedded/socket-path.ts';
import { serveWorkers, type WorkerEvent } from './adapters/embedded/socket-server.ts';
import { EmbeddedWorkQueue } from './adapters/embedded/work-queue.ts';
import { systemClock } from './adapters/system/clock.ts';
import { killFaults } from './adapters/system/kill-faults.ts';
import { type Config, toEnvironment } from './config.ts';
import { Controller } from './controller/controller.ts';
import { EventStream } from './controller/events.ts';
import { logEvents } from './controller/log-events.ts';
import { importItems, submitJob } from './controller/submit.ts';
import type { NewItem } from './domain/item.ts';
import type { Lane } from './domain/lane.ts';
import { loadScrapers } from './scraping/registry.ts';
import { DEFAULT_HANG_LIMIT_MS, startHeartbeatThread } from './worker/heartbeat.ts';
import { runHeartbeatThread } from './worker/heartbeat-thread.ts';
import { hasParent, onParentGone, tellParentReady } from './worker/parent.ts';
import { startWorkerPool } from './worker/pool.ts';
import { Worker } from './worker/worker.ts';

const digest = (text: string) => hash('sha256', text);

const SHIPPED_SCRAPERS = fileURLToPath(new URL('../scrapers', import.meta.url));

/** Begins the names of workers that end with the process which started them. */
const CHILD = 'child-';

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
    await store.sweep();
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

export type Engine = Awaited<ReturnType<typeof openEngine>>;

/** The controller on the embedded backend, with a socket for its workers. Worker processes are started on demand. */
export async function openEngine(config: Config, log: Logger = openLog(config)) {
  const scrapers = await loadScrapers([SHIPPED_SCRAPERS, ...config.scrapers]);
  const storage = await openStorage(config);
  const { clock, ledger } = storage;
  const faults = killFaults(config.faults, clock);
  const queue = new EmbeddedWorkQueue(clock);
  const events = new EventStream();
  logEvents(events, log);
  const controller = new Controller({
    ...storage,
    // Only one process can own the directory, so that its successor need not wait for its lead to run out.
    holder: 'the owner of the data directory',
    queue,
    faults,
    events,
    digest,
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
  });
  const ready = workersReady(config.workers);
  const onWorker = (event: WorkerEvent) => {
    if (event.kind === 'storage-trouble') {
      controller.storageTrouble(event.message);
      return;
    }
    events.publish(event);
    if (event.kind === 'worker-joined') ready.joined();
    if (event.kind === 'worker-left' && event.abandoned > 0) controller.workerLost();
  };
  const socketPath = workerSocketPath(config.dataDir);
  const server = await serveWorkers({ ledger, queue, socketPath, clock, onWorker }).catch(async (error: unknown) => {
    await storage.close();
    throw error;
  });
  controller.start();
  let pool: ReturnType<typeof startWorkerPool> | null = null;

  return {
    clock,
    ledger,
    queue,
    store: storage.store,
    events,
    submit: (request: unknown) => submitJob({ ledger, clock, findScraper: (id) => scrapers.find(id) }, request),
    importItems: (jobId: string, chunks: AsyncIterable<readonly NewItem[]> | Iterable<readonly NewItem[]>) =>
      importItems({ ledger, clock, faults }, jobId, chunks),
    /** Worker processes, kept at their number until the engine stops. */
    startWorkers() {
      pool ??= startWorkerPool({
        count: config.workers,
        command: process.execPath,
        args: [...process.execArgv, fileURLToPath(new URL('cli/main.ts', import.meta.url)), 'worker'],
        env: toEnvironment(config),
        clock,
      });
      return { ...pool, ready: ready.promise };
    },
    async stop() {
      await controller.stop();
      // Workers give back or settle what they have, so the ledger must outlive them.
      await pool?.stop(config.drainGraceMs + 5000);
      await server.close();
      await storage.close();
    },
  };
}

function workersReady(count: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let joined = 0;
  return {
    promise,
    joined() {
      joined += 1;
      if (joined >= count) resolve();
    },
  };
}

/** A worker process: works until `stop` aborts, or its owner is gone. */
export async function runWorkerProcess(config: Config, lane: Lane, log: Logger, stop: AbortSignal): Promise<void> {
  onParentGone(() => process.exit(1));
  const clock = systemClock();
  const faults = killFaults(config.faults, clock);
  const id = `${hasParent() ? CHILD : ''}${process.pid}-${clock.id()}`;
  const scrapers = await loadScrapers([SHIPPED_SCRAPERS, ...config.scrapers]);
  const store = await openFileResultStore(join(config.dataDir, 'results'), { clock });
  const socketPath = workerSocketPath(config.dataDir);
  const owner = await connectToOwner({ socketPath, workerId: id, role: 'main', clock, signal: stop });
  const onTrouble = (where: string, error: unknown) => log.warn({ where, err: error }, 'worker trouble');
  const heartbeat = startHeartbeatThread({
    entry: new URL('cli/heartbeat.ts', import.meta.url),
    connectWith: { socketPath, workerId: id } satisfies HeartbeatArguments,
    slots: config.slots,
    leaseMs: config.leaseMs,
    hangLimitMs: DEFAULT_HANG_LIMIT_MS,
    clock,
    onTrouble: (error) => onTrouble('heartbeat', error),
  });
  const worker = new Worker({
    ...owner,
    id,
    store,
    scrapers,
    heartbeat,
    clock,
    faults,
    digest,
    onError: onTrouble,
    settings: {
      lane,
      slots: config.slots,
      leaseMs: config.leaseMs,
      drainGraceMs: config.drainGraceMs,
      settleEveryMs: 0,
    },
  });
  tellParentReady();
  await worker.run(stop);
  await owner.close();
}

interface HeartbeatArguments {
  readonly socketPath: string;
  readonly workerId: string;
}

/** What the heartbeat's thread runs: the same connection as the worker's, and one of its own. */
export async function runHeartbeat(): Promise<void> {
  const clock = systemClock();
  await runHeartbeatThread(clock, (connectWith, signal) =>
    connectToOwner({ ...(connectWith as HeartbeatArguments), role: 'heartbeat', clock, signal }),
  );
}

export function openLog(config: Config): Logger {
  return pino({ level: config.logLevel, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime });
}
