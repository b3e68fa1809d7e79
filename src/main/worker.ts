import type { Logger } from 'pino';
import { systemClock } from '../adapters/system/clock.ts';
import { killFaults } from '../adapters/system/kill-faults.ts';
import { type Config, laneConfig } from '../config.ts';
import { describeError } from '../domain/describe-error.ts';
import type { Lane } from '../domain/lane.ts';
import { placesOfAllJobs } from '../domain/slot-share.ts';
import type { Clock } from '../ports/clock.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import { DEFAULT_HANG_LIMIT_MS, startHeartbeatThread } from '../worker/heartbeat.ts';
import { hasParent, onParentGone, tellParentReady } from '../worker/parent.ts';
import { StepReports } from '../worker/step-reports.ts';
import { WaitReporter } from '../worker/wait-reporter.ts';
import { Worker } from '../worker/worker.ts';
import type { BackendModule } from './backend.ts';
import { loadBackend } from './backends.ts';
import { CHILD } from './child-name.ts';
import { digest } from './digest.ts';
import { limitHeapGrowth } from './heap-growth.ts';
import type { HeartbeatStart } from './heartbeat.ts';
import { openTools } from './lane-tools.ts';
import { followScrapers } from './scrapers.ts';

/**
 * A worker process: works until `stop` aborts. A child ends with the process that started it; a worker started
 * separately waits for another controller when its own is gone. Both wait for a result store that is missing.
 */
export async function runWorkerProcess(config: Config, lane: Lane, log: Logger, stop: AbortSignal): Promise<void> {
  limitHeapGrowth();
  onParentGone(() => process.exit(1));
  // A forgotten promise of a scraper that rejected is no reason to end the other items as well.
  process.on('unhandledRejection', (error) => log.warn({ error: describeError(error) }, 'unhandled promise rejection'));
  const clock = systemClock();
  const backends = await loadBackend(config);
  let isWaiting = false;
  const onJoined = () => {
    isWaiting = false;
    log.info({ ...backends.describe(config), lane }, 'working');
  };
  while (!stop.aborted) {
    try {
      await work({ config, backends, lane, log, clock, onJoined }, stop);
      return;
    } catch (error) {
      const isForStorage = error instanceof StorageTrouble;
      if (!isForStorage && (hasParent() || !backends.isControllerGone(error))) throw error;
      // Logged once, however long it takes.
      const what = isForStorage ? 'waiting for the storage' : 'waiting for a controller';
      if (!isWaiting) log.warn({ data_dir: config.dataDir, why: describeError(error).message }, what);
      isWaiting = true;
      await clock.sleep(isForStorage ? LOOK_AGAIN_MS : ASK_AGAIN_MS, stop);
    }
  }
}

const ASK_AGAIN_MS = 500;

/** Each look is a line in the controller's log: a worker that joined and left. */
const LOOK_AGAIN_MS = 5000;

interface WorkDeps {
  readonly config: Config;
  readonly backends: BackendModule;
  readonly lane: Lane;
  readonly log: Logger;
  readonly clock: Clock;
  readonly onJoined: () => void;
}

async function work({ config, backends, lane, log, clock, onJoined }: WorkDeps, stop: AbortSignal): Promise<void> {
  const faults = killFaults(config.faults, clock);
  const id = `${hasParent() ? CHILD : ''}${process.pid}-${clock.id()}`;
  const scrapers = await followScrapers(config, clock, log);
  const onTrouble = (where: string, error: unknown) =>
    log.warn({ where, error: describeError(error) }, 'worker trouble');
  const backend = await backends.openWorker(config, { id, clock, faults, onTrouble, stop });
  const { slots } = laneConfig(config, lane);
  const heartbeat = startHeartbeatThread({
    entry: new URL('./heartbeat.ts', import.meta.url),
    connectWith: { config, workerId: id } satisfies HeartbeatStart,
    slots: placesOfAllJobs(slots),
    leaseMs: config.leaseMs,
    hangLimitMs: DEFAULT_HANG_LIMIT_MS,
    clock,
    onTrouble: (error) => onTrouble('heartbeat', error),
  });
  const opened = await openTools(lane, { config, log, clock, backend, id, onTrouble });
  const steps = new StepReports({
    ...{ records: backend.stepRecords, log, clock, everyMs: backend.seenEveryMs, onError: onTrouble },
  });
  const ended = new AbortController();
  const reporting = steps.run(ended.signal);
  const waits = new WaitReporter({ waits: backend.itemWaits, worker: id, clock });
  const worker = new Worker({
    ...backend,
    id,
    onWait: (...wait) => waits.note(...wait),
    onSteps: (...seen) => steps.note(...seen),
    scrapers,
    tools: opened.tools,
    isStillHeld: opened.isStillHeld,
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
      orderGoodMs: backend.orderGoodMs,
    },
  });
  await opened.ready;
  tellParentReady(id);
  onJoined();
  try {
    await worker.run(stop);
  } finally {
    ended.abort();
    await reporting;
    await opened.close();
    await backend.close();
  }
}
