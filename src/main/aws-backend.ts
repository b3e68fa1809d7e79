import { hostname } from 'node:os';
import { type AwsClients, openAwsClients } from '../adapters/aws/clients.ts';
import { DynamoHostPauses } from '../adapters/aws/host-pauses.ts';
import { DynamoHostRecords } from '../adapters/aws/host-records.ts';
import { DynamoHostSettings } from '../adapters/aws/host-settings.ts';
import { DynamoHostShares } from '../adapters/aws/host-shares.ts';
import { CHUNK_ITEMS } from '../adapters/aws/ledger/keys.ts';
import { openDynamoLedger } from '../adapters/aws/ledger.ts';
import { DynamoRunBook } from '../adapters/aws/run-book.ts';
import { DynamoSiteBook } from '../adapters/aws/site-book.ts';
import { DynamoSiteRows } from '../adapters/aws/site-rows.ts';
import { DynamoStepRecords } from '../adapters/aws/step-records.ts';
import { openSqsQueue } from '../adapters/aws/work-queue.ts';
import { systemClock } from '../adapters/system/clock.ts';
import type { AwsBackendConfig } from '../config.ts';
import type { BatchTurn } from '../domain/batch-turn.ts';
import type { CachedEntry } from '../domain/cached-page.ts';
import { errorMessage } from '../domain/error-message.ts';
import type { PathErrors } from '../domain/path-errors.ts';
import type { RecordedScraper, RecordingClaim, SentRecording } from '../domain/recording/kept-recording.ts';
import type { Clock } from '../ports/clock.ts';
import { NO_ITEM_WAITS } from '../ports/item-waits.ts';
import type { LeaseBook } from '../ports/ledger.ts';
import type { RunRow } from '../ports/run-orders.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import type { PoolChange } from '../worker/pool.ts';
import { receiveAndClaim } from '../worker/receive-and-claim.ts';
import type {
  Backend,
  BackendModule,
  ConfigFor,
  OnTrouble,
  WorkerBackend,
  WorkerBackendDeps,
  WorkerEvent,
  WorkerReception,
} from './backend.ts';
import { type RecordingTools, recordingTools } from './recording-tools.ts';
import { loadResults } from './results-backends.ts';
import { siteTools } from './site-data.ts';

/** DynamoDB, SQS and S3, with any number of controllers and workers, on any machine. */
export const AWS_BACKEND: BackendModule<'aws'> = {
  slotUnit: 'batches',
  describe: ({ backend }) => ({ table: backend.tableName }),
  open,
  openWorker,
  // Workers connect to AWS themselves, and wait for it there.
  isControllerGone: () => false,

  async connectHeartbeat({ backend }, { clock }) {
    // The thread itself reports a failed beat.
    const end = openWorkerEnd(openAwsClients(), backend, clock, () => {});
    return { ...end, closed: new Promise(() => {}) };
  },

  async inspect({ backend }, options) {
    const { checkAws } = await import('./aws-checks.ts');
    return await checkAws(backend, options);
  },
};

/**
 * With the default lease, progress of slow items is visible every 25 seconds, and a dying worker loses no more than
 * that. More often would cost more than everything else: a settle is seven write units, whatever the number of items.
 */
const SETTLES_PER_LEASE = 12;

/**
 * A leader may not notice for 15 seconds that it was overtaken, and its last calls to S3 are given up after 30
 * (`SHARED_CALL_MS`); the rest is for requests under way then. Shorter leases are for tests.
 */
const HANDOVER_MS = 60_000;

/** A look is two reads, whatever the number of items. Operators' changes take effect within five seconds. */
const PAUSES_EVERY_MS = 4000;

/** One write unit per worker, host and lease; changed limits and shares take effect within it. */
export const SHARE_LEASE_MS = 3000;

/** A changed policy is in force within five seconds; each look is a read of the job. */
const ORDER_GOOD_MS = 4000;
/**
 * A report is a read and a write per host and job, whatever the number of requests. Must be shorter than the window of
 * the records.
 */
const SEEN_EVERY_MS = 10_000;

/** How often a controller looks and a worker reports, by the length of a lease. */
export function awsPace(leaseMs: number) {
  return {
    settleEveryMs: leaseMs / SETTLES_PER_LEASE,
    controller: {
      leaseMs,
      // A message is late because no worker is free, far more often than because it is lost; a duplicate costs little.
      lostAfterMs: 15 * 60_000,
      leadMs: Math.min(15_000, 2 * leaseMs),
      handoverMs: Math.min(HANDOVER_MS, 8 * leaseMs),
      reapMs: Math.min(5000, leaseMs / 4),
      pollMs: 5000,
      probeMs: 5000,
      itemsPerBatch: CHUNK_ITEMS,
      itemManifests: false,
    },
  };
}

async function open(config: ConfigFor<'aws'>, onTrouble: OnTrouble): Promise<Backend> {
  const clock = systemClock();
  const clients = openAwsClients();
  const { tableName, queueUrls } = config.backend;
  const { ledger, leadership, ...dynamo } = openDynamoLedger({ ...clients, tableName, clock, onTrouble, listen: true });
  const queue = openSqsQueue({ ...clients, queueUrls, clock, onTrouble });
  const results = await (await loadResults(config)).open(config, clock, 'anyone');
  const { store, links } = results;
  const hostPauses = new DynamoHostPauses({ ...clients, tableName, clock });
  const hostSettings = new DynamoHostSettings({ ...clients, tableName, clock });
  const hostRecords = new DynamoHostRecords({ ...clients, tableName, clock });
  const stepRecords = new DynamoStepRecords({ ...clients, tableName, clock });
  const runs = new DynamoRunBook({ ...clients, tableName, clock });
  const probe = async () => {
    await dynamo.probe();
    await results.probe();
  };
  const close = async () => {
    await Promise.all([dynamo.close(), queue.close()]);
    clients.close();
    results.close();
  };
  await mustBeThere(clients, async () => {
    await probe();
    await queue.depth().catch(unlessRefused);
  }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    ...{ clock, ledger, leadership, queue, hostPauses, hostSettings, hostRecords, stepRecords },
    ...{ store, links, probe, close },
    runs,
    ...siteTools(openSiteStores(clients, tableName, clock), store),
    ...openRecordings(clients, tableName, clock),
    deadLetters: queue,
    itemWaits: NO_ITEM_WAITS,
    pathOf: (artifact) => results.pathOf(artifact),
    holder: `${hostname()}-${process.pid}-${clock.id()}`,
    settings: { ...awsPace(config.leaseMs).controller, itemManifests: results.hasItemManifests },
    // A claim is not worth a row of news; the feed looks again at every tick anyway.
    feedSettings: { idleMs: 0 },
    // No reserve is needed: there is always space.
    makeRoom: async () => {},
    async sweep() {
      await dynamo.sweep();
      await runs.sweep();
      await results.sweep();
    },
    // Workers connect to AWS themselves.
    acceptWorkers: async (onWorker) => followChildren(ledger, clock, onWorker),
  };
}

/**
 * Missing resources or permissions do not appear by waiting: the process ends with a message. Temporary trouble is
 * different: an engine that starts in the middle of it waits until it is over.
 */
async function mustBeThere({ dynamo }: AwsClients, look: () => Promise<unknown>): Promise<void> {
  try {
    // Later these may fail for a moment, with the service that issues them; at the start they are missing altogether.
    await Promise.all([dynamo.config.region(), dynamo.config.credentials()]);
    await look();
  } catch (error) {
    if (error instanceof StorageTrouble) return;
    const message = errorMessage(error);
    throw new Error(`${message}\ntrawl doctor shows what is missing on AWS, and trawl doctor --create creates it`, {
      cause: error,
    });
  }
}

/** Queues that cannot be reached now may be later. */
function unlessRefused(error: unknown): void {
  if (error instanceof Error && '$fault' in error && error.$fault === 'client') throw error;
}

/** A child that died is known to be dead at once, long before its leases expire. */
function followChildren(
  ledger: Pick<LeaseBook, 'abandon'>,
  clock: Clock,
  onWorker: (event: WorkerEvent) => void,
): WorkerReception {
  const underWay = new Set<Promise<void>>();
  return {
    // Workers are on other machines.
    lanes: () => null,
    heardOfChild(change) {
      if (change.kind === 'ready') onWorker({ kind: 'worker-joined', worker: change.worker });
      if (change.kind !== 'died' || change.worker === null) return;
      const leaving = leave(change.worker, change).finally(() => underWay.delete(leaving));
      underWay.add(leaving);
    },
    async close() {
      await Promise.all(underWay);
    },
  };

  async function leave(worker: string, { code, signal }: Extract<PoolChange, { kind: 'died' }>): Promise<void> {
    const reason = signal ?? `code ${code}`;
    try {
      // One that ended properly has settled or given back everything.
      const abandoned = code === 0 ? 0 : await ledger.abandon(worker, clock.now());
      onWorker({ kind: 'worker-left', worker, reason, abandoned });
    } catch (error) {
      onWorker({ kind: 'worker-left', worker, reason, abandoned: 0 });
      const why = errorMessage(error);
      onWorker({ kind: 'connection-trouble', worker, reason: `its leases will expire: ${why}` });
    }
  }
}

async function openWorker(
  config: ConfigFor<'aws'>,
  { id, clock, faults, onTrouble }: WorkerBackendDeps,
): Promise<WorkerBackend> {
  const aws = config.backend;
  const clients = openAwsClients();
  const { leases, queue, ...end } = openWorkerEnd(clients, aws, clock, onTrouble);
  const results = await (await loadResults(config)).open(config, clock, 'anyone');
  const close = async () => {
    await end.close();
    results.close();
  };
  // A missing table would only be noticed after batches were claimed. A missing queue is waited for.
  await mustBeThere(clients, () => leases.workOrder('nobody')).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    ...{ leases, queue, close },
    store: results.store,
    ...siteTools(openSiteStores(clients, aws.tableName, clock), results.store),
    recordings: openRecordings(clients, aws.tableName, clock).recordings,
    hostPauses: new DynamoHostPauses({ ...clients, tableName: aws.tableName, clock }),
    hostSettings: new DynamoHostSettings({ ...clients, tableName: aws.tableName, clock }),
    hostShares: new DynamoHostShares({ ...clients, tableName: aws.tableName, clock }),
    shareLeaseMs: SHARE_LEASE_MS,
    hostRecords: new DynamoHostRecords({ ...clients, tableName: aws.tableName, clock }),
    stepRecords: new DynamoStepRecords({ ...clients, tableName: aws.tableName, clock }),
    seenEveryMs: SEEN_EVERY_MS,
    pausesEveryMs: PAUSES_EVERY_MS,
    orderGoodMs: ORDER_GOOD_MS,
    itemWaits: NO_ITEM_WAITS,
    source: receiveAndClaim({ id, queue, leases, clock, faults, onError: onTrouble }),
    settleEveryMs: awsPace(config.leaseMs).settleEveryMs,
  };
}

function openSiteStores({ dynamo }: AwsClients, tableName: string, clock: Clock) {
  const deps = { dynamo, tableName, clock };
  return {
    sites: new DynamoSiteBook(deps),
    pageRows: new DynamoSiteRows<CachedEntry>(deps, 'page'),
    errorRows: new DynamoSiteRows<PathErrors>(deps, 'error'),
    turnRows: new DynamoSiteRows<BatchTurn>(deps, 'turn'),
    runRows: new DynamoSiteRows<RunRow>(deps, 'run'),
  };
}

function openRecordings({ dynamo }: AwsClients, tableName: string, clock: Clock): RecordingTools {
  const deps = { dynamo, tableName, clock };
  return recordingTools({
    recordingRows: new DynamoSiteRows<SentRecording>(deps, 'recording'),
    claimRows: new DynamoSiteRows<RecordingClaim>(deps, 'recording-claim'),
    recordedScraperRows: new DynamoSiteRows<RecordedScraper>(deps, 'recorded-scraper'),
  });
}

/** Ledger and queue for a worker, which does not listen for news. */
function openWorkerEnd(
  clients: AwsClients,
  { tableName, queueUrls }: Pick<AwsBackendConfig, 'tableName' | 'queueUrls'>,
  clock: Clock,
  onTrouble: OnTrouble,
) {
  const { ledger, ...dynamo } = openDynamoLedger({ ...clients, tableName, clock, onTrouble, listen: false });
  const queue = openSqsQueue({ ...clients, queueUrls, clock, onTrouble });
  return {
    leases: ledger,
    queue,
    async close() {
      await Promise.all([dynamo.close(), queue.close()]);
      clients.close();
    },
  };
}
