import type { Logger } from 'pino';
import { OwnerGone } from './adapters/embedded/socket/socket-client.ts';
import { systemClock } from './adapters/system/clock.ts';
import { garbageCollector } from './adapters/system/collect-garbage.ts';
import { killFaults } from './adapters/system/kill-faults.ts';
import { type Config, laneConfig } from './config.ts';
import { describeError } from './domain/describe-error.ts';
import type { Lane } from './domain/lane.ts';
import { placesOfAllJobs } from './domain/slot-share.ts';
import { openWeb } from './egress/open-web.ts';
import { PoliteHostGate } from './egress/polite-host-gate.ts';
import { SharedPauses } from './egress/shared-pauses.ts';
import { withTidyMemory } from './egress/tidy-memory.ts';
import type { Clock } from './ports/clock.ts';
import type { Faults } from './ports/faults.ts';
import { StorageTrouble } from './ports/storage-trouble.ts';
import { digest, egressSettings, findScrapers } from './wiring.ts';
import { CHILD, type HeartbeatArguments, type WorkerBackend } from './wiring-backend.ts';
import { connectEmbeddedHeartbeat, openEmbeddedWorker } from './wiring-embedded.ts';
import { DEFAULT_HANG_LIMIT_MS, startHeartbeatThread } from './worker/heartbeat.ts';
import { type HeartbeatConnection, runHeartbeatThread } from './worker/heartbeat-thread.ts';
import { hasParent, onParentGone, tellParentReady } from './worker/parent.ts';
import { Worker, type WorkerParts } from './worker/worker.ts';

/**
 * A worker process: works until `stop` aborts. A child ends with the process that started it; one that was started by
 * itself waits for another controller when its own is gone. Either waits for a result store that is not there.
 */
export async function runWorkerProcess(config: Config, lane: Lane, log: Logger, stop: AbortSignal): Promise<void> {
  onParentGone(() => process.exit(1));
  // A promise that a scraper forgot to wait for, and that failed: no reason to take its neighbours down with it.
  process.on('unhandledRejection', (error) =>
    log.warn({ error: describeError(error) }, 'nobody waited for a promise that failed'),
  );
  const clock = systemClock();
  let isWaiting = false;
  const onJoined = () => {
    isWaiting = false;
    const where = config.backend.kind === 'aws' ? { table: config.backend.tableName } : { data_dir: config.dataDir };
    log.info({ ...where, lane }, 'working');
  };
  while (!stop.aborted) {
    try {
      await work({ config, lane, log, clock, onJoined }, stop);
      return;
    } catch (error) {
      const isForStorage = error instanceof StorageTrouble;
      if (!isForStorage && (hasParent() || !(error instanceof OwnerGone))) throw error;
      // Once, however long it takes.
      const what = isForStorage ? 'waiting for the storage' : 'waiting for a controller';
      if (!isWaiting) log.warn({ data_dir: config.dataDir, why: error.message }, what);
      isWaiting = true;
      await clock.sleep(isForStorage ? LOOK_AGAIN_MS : ASK_AGAIN_MS, stop);
    }
  }
}

const ASK_AGAIN_MS = 500;

/** Each look is a line in the log of the controller: a worker that joined and left. */
const LOOK_AGAIN_MS = 5000;

interface WorkParts {
  readonly config: Config;
  readonly lane: Lane;
  readonly log: Logger;
  readonly clock: Clock;
  readonly onJoined: () => void;
}

async function work({ config, lane, log, clock, onJoined }: WorkParts, stop: AbortSignal): Promise<void> {
  const faults = killFaults(config.faults, clock);
  const id = `${hasParent() ? CHILD : ''}${process.pid}-${clock.id()}`;
  const scrapers = await findScrapers(config);
  const onTrouble = (where: string, error: unknown) =>
    log.warn({ where, error: describeError(error) }, 'worker trouble');
  const backend = await openWorkerBackend(config, { id, clock, faults, onTrouble, stop });
  const { slots } = laneConfig(config, lane);
  const heartbeat = startHeartbeatThread({
    entry: new URL('cli/heartbeat.ts', import.meta.url),
    connectWith: backend.heartbeatWith,
    slots: placesOfAllJobs(slots),
    leaseMs: config.leaseMs,
    hangLimitMs: DEFAULT_HANG_LIMIT_MS,
    clock,
    onTrouble: (error) => onTrouble('heartbeat', error),
  });
  const opened = OPEN_TOOLS[lane]({ config, log, clock, backend, id, onTrouble });
  const worker = new Worker({
    ...backend,
    id,
    scrapers,
    tools: opened.tools,
    heartbeat,
    clock,
    faults,
    digest,
    onError: onTrouble,
    settings: {
      lane,
      slots,
      leaseMs: config.leaseMs,
      drainGraceMs: config.drainGraceMs,
      settleEveryMs: backend.settleEveryMs,
    },
  });
  tellParentReady(id);
  onJoined();
  try {
    await worker.run(stop);
  } finally {
    await opened.close();
    await backend.close();
  }
}

interface ToolsDeps extends Pick<WorkParts, 'config' | 'log' | 'clock'> {
  readonly backend: Pick<WorkerBackend, 'hostPauses' | 'pausesEveryMs'>;
  /** The name of the worker. */
  readonly id: string;
  readonly onTrouble: (where: string, error: unknown) => void;
}

interface OpenTools {
  readonly tools: WorkerParts['tools'];
  close(): Promise<void>;
}

/**
 * What a worker process opens for the scrapers of its lane, and nothing else. Scrapers of the lane `browser` may fetch,
 * too; browser sessions belong in their row only.
 */
const OPEN_TOOLS: Readonly<Record<Lane, (deps: ToolsDeps) => OpenTools>> = {
  http: openHttpTools,
  browser: openHttpTools,
};

function openHttpTools({ config, log, clock, backend, id, onTrouble }: ToolsDeps): OpenTools {
  const web = withTidyMemory(openWeb({ ...egressSettings(config), clock }), { collect: garbageCollector(), clock });
  const pauses = new SharedPauses({
    ...{ pauses: backend.hostPauses, everyMs: backend.pausesEveryMs, worker: id, clock, onError: onTrouble },
  });
  const gate = new PoliteHostGate({
    clock,
    maxConcurrent: config.hostConcurrency,
    minDelayMs: config.hostDelayMs,
    onHold: (...hold) => pauses.note(...hold),
  });
  const ended = new AbortController();
  void pauses.run(gate, ended.signal);
  return {
    tools: { web, gate, log },
    async close() {
      ended.abort();
      await web.close();
    },
  };
}

interface WorkerBackendParts {
  readonly id: string;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly onTrouble: (where: string, error: unknown) => void;
  readonly stop: AbortSignal;
}

async function openWorkerBackend(config: Config, parts: WorkerBackendParts): Promise<WorkerBackend> {
  if (config.backend.kind === 'embedded') return openEmbeddedWorker(config, parts);
  return (await import('./wiring-aws.ts')).openAwsWorker(config, config.backend, parts);
}

/** What the heartbeat's thread runs: the same connection as the worker's, and one of its own. */
export async function runHeartbeat(): Promise<void> {
  const clock = systemClock();
  await runHeartbeatThread(clock, (given, signal) => connectHeartbeat(given as HeartbeatArguments, clock, signal));
}

async function connectHeartbeat(
  given: HeartbeatArguments,
  clock: Clock,
  signal: AbortSignal,
): Promise<HeartbeatConnection> {
  if (given.kind === 'embedded') return connectEmbeddedHeartbeat(given, clock, signal);
  return (await import('./wiring-aws.ts')).connectAwsHeartbeat(given, clock);
}
