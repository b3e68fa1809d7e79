import { hostname } from 'node:os';
import { type AwsClients, openAwsClients } from './adapters/aws/clients.ts';
import { CHUNK_ITEMS } from './adapters/aws/ledger/keys.ts';
import { openDynamoLedger } from './adapters/aws/ledger.ts';
import type { Finding } from './adapters/aws/provision/finding.ts';
import { inspectAws, provisionAws } from './adapters/aws/provisioning.ts';
import { openS3ResultStore } from './adapters/aws/result-store.ts';
import { openSqsQueue } from './adapters/aws/work-queue.ts';
import { systemClock } from './adapters/system/clock.ts';
import type { AwsBackendConfig, Config } from './config.ts';
import type { Clock } from './ports/clock.ts';
import type { Faults } from './ports/faults.ts';
import type { LeaseBook } from './ports/ledger.ts';
import { StorageTrouble } from './ports/storage-trouble.ts';
import type { Backend, HeartbeatArguments, WorkerBackend, WorkerEvent, WorkerReception } from './wiring-backend.ts';
import type { HeartbeatConnection } from './worker/heartbeat-thread.ts';
import type { PoolChange } from './worker/pool.ts';
import { receiveAndClaim } from './worker/receive-and-claim.ts';

/** Where something that AWS refused is reported. */
type OnTrouble = (where: string, error: unknown) => void;

/**
 * So that every 25 seconds, unless a lease is set, the progress of slow items is seen and a worker that dies takes no more
 * with it. More often would cost more than all the rest: a settle is seven write units, whatever the number of items.
 */
const SETTLES_PER_LEASE = 12;

/** How often a controller looks, and a worker tells, by the length of a lease. */
export function awsPace(leaseMs: number) {
  return {
    settleEveryMs: leaseMs / SETTLES_PER_LEASE,
    controller: {
      leaseMs,
      // A message is late because no worker is free, far more often than because it is lost; doubling it costs little.
      lostAfterMs: 15 * 60_000,
      leadMs: Math.min(15_000, 2 * leaseMs),
      reapMs: Math.min(5000, leaseMs / 4),
      pollMs: 5000,
      probeMs: 5000,
      itemsPerBatch: CHUNK_ITEMS,
    },
  };
}

/** DynamoDB, SQS and S3, with as many controllers and workers as anybody likes, on any machine. */
export async function openAwsBackend(config: Config, aws: AwsBackendConfig, onTrouble: OnTrouble): Promise<Backend> {
  const clock = systemClock();
  const clients = openAwsClients();
  const { tableName, queueUrls, bucket } = aws;
  const { ledger, leadership, ...dynamo } = openDynamoLedger({ ...clients, tableName, clock, onTrouble, listen: true });
  const queue = openSqsQueue({ ...clients, queueUrls, clock, onTrouble });
  const store = openS3ResultStore({ ...clients, bucket, clock });
  const probe = async () => {
    await dynamo.probe();
    await store.probe();
  };
  const close = async () => {
    await Promise.all([dynamo.close(), queue.close()]);
    clients.close();
  };
  await mustBeThere(clients, async () => {
    await probe();
    await queue.depth().catch(unlessRefused);
  }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    ...{ clock, ledger, leadership, queue, store, links: store, deadLetters: queue, probe, close },
    holder: `${hostname()}-${process.pid}-${clock.id()}`,
    settings: awsPace(config.leaseMs).controller,
    // That a worker took a batch is not worth a row that tells it; whoever watches looks again at every tick.
    feedSettings: { idleMs: 0 },
    // Nothing is put by: there is always room.
    makeRoom: async () => {},
    sweep: () => dynamo.sweep(),
    // They go to AWS by themselves.
    acceptWorkers: async (onWorker) => followChildren(ledger, clock, onWorker),
  };
}

/**
 * What is missing, or not for us, will not come by waiting: the process ends and says so. Trouble is another matter: an
 * engine that starts in the middle of it waits until it is over.
 */
async function mustBeThere({ dynamo }: AwsClients, look: () => Promise<unknown>): Promise<void> {
  try {
    // Later these fail for a moment, if the service that gives them out does; at the start they are not there at all.
    await Promise.all([dynamo.config.region(), dynamo.config.credentials()]);
    await look();
  } catch (error) {
    if (error instanceof StorageTrouble) return;
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`${message}\ntrawl doctor says what is missing on AWS, and trawl doctor --create makes it`, {
      cause: error,
    });
  }
}

/** Queues that cannot be reached now may be later. */
function unlessRefused(error: unknown): void {
  if (error instanceof Error && '$fault' in error && error.$fault === 'client') throw error;
}

/** A child that died is known to be dead at once, long before its leases run out. */
function followChildren(
  ledger: Pick<LeaseBook, 'abandon'>,
  clock: Clock,
  onWorker: (event: WorkerEvent) => void,
): WorkerReception {
  const underWay = new Set<Promise<void>>();
  return {
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
      // One that ended as it should has settled or given back all that it had.
      const abandoned = code === 0 ? 0 : await ledger.abandon(worker, clock.now());
      onWorker({ kind: 'worker-left', worker, reason, abandoned });
    } catch (error) {
      onWorker({ kind: 'worker-left', worker, reason, abandoned: 0 });
      const why = error instanceof Error ? error.message : String(error);
      onWorker({ kind: 'connection-trouble', worker, reason: `its leases run out by themselves: ${why}` });
    }
  }
}

/** The results in the bucket, for whoever only reads them. */
export function openBucketResults({ bucket }: AwsBackendConfig) {
  const clients = openAwsClients();
  const store = openS3ResultStore({ ...clients, bucket, clock: systemClock() });
  return { store, close: () => clients.close() };
}

export interface AwsWorkerParts {
  readonly id: string;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly onTrouble: OnTrouble;
}

export async function openAwsWorker(
  { leaseMs }: Config,
  aws: AwsBackendConfig,
  { id, clock, faults, onTrouble }: AwsWorkerParts,
): Promise<WorkerBackend> {
  const clients = openAwsClients();
  const { leases, queue, close } = openWorkerEnd(clients, aws, clock, onTrouble);
  // A table that is not there would be noticed with batches in hand. A queue that is not there is waited for.
  await mustBeThere(clients, () => leases.workOrder('nobody')).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    ...{ leases, queue, close },
    store: openS3ResultStore({ ...clients, bucket: aws.bucket, clock }),
    source: receiveAndClaim({ id, queue, leases, clock, faults, onError: onTrouble }),
    heartbeatWith: { kind: 'aws', tableName: aws.tableName, queueUrls: aws.queueUrls },
    settleEveryMs: awsPace(leaseMs).settleEveryMs,
  };
}

export function connectAwsHeartbeat(
  aws: Extract<HeartbeatArguments, { kind: 'aws' }>,
  clock: Clock,
): HeartbeatConnection {
  // A beat that could not be made is told by the thread itself.
  const end = openWorkerEnd(openAwsClients(), aws, clock, () => {});
  return { ...end, closed: new Promise(() => {}) };
}

/** Ledger and queue, from where nobody is listened to. */
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

/** For `trawl doctor`. What takes longer than this is not reached at all. */
const PATIENCE_MS = 15_000;

/** Looks at everything on AWS that an engine needs; with `create`, makes what is missing first, and tells that too. */
export async function examineAws(
  aws: AwsBackendConfig,
  { create }: { readonly create: boolean },
): Promise<readonly Finding[]> {
  const clock = systemClock();
  const clients = openAwsClients();
  const late = new AbortController();
  const done = new AbortController();
  void clock.sleep(PATIENCE_MS * (create ? 8 : 1), done.signal).then(() => late.abort());
  try {
    const parts = { clock, signal: late.signal };
    const { made, problems } = create ? await provisionAws(clients, aws, parts) : { made: [], problems: [] };
    const created = made.map((message): Finding => ({ name: 'Created', result: 'ok', message }));
    return [...created, ...problems, ...(await inspectAws(clients, aws, parts))];
  } finally {
    done.abort();
    clients.close();
  }
}
