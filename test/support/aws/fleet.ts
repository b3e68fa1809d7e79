import { hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type AwsSettings, type ClientOverrides, openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { openDynamoLedger } from '../../../src/adapters/aws/ledger.ts';
import { openS3ResultStore } from '../../../src/adapters/aws/result-store.ts';
import { openSqsQueue } from '../../../src/adapters/aws/work-queue.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { Controller } from '../../../src/controller/controller.ts';
import { EventStream } from '../../../src/controller/events.ts';
import { NO_FAULTS } from '../../../src/ports/faults.ts';
import { loadScrapers } from '../../../src/scraping/registry.ts';
import { type Heartbeat, inProcessHeartbeat } from '../../../src/worker/heartbeat.ts';
import { receiveAndClaim } from '../../../src/worker/receive-and-claim.ts';
import { Worker } from '../../../src/worker/worker.ts';
import { NO_TOOLS } from '../no-tools.ts';

/**
 * Controllers and workers on AWS, all in this process, each with clients of its own: as many as one likes without the
 * start of as many processes.
 */
export interface FleetOptions {
  readonly settings: Omit<AwsSettings, 'overrides'>;
  readonly overrides: ClientOverrides;
  readonly controllers: number;
  readonly workers: number;
  readonly slots: number;
  readonly leaseMs: number;
  /** So many of the workers never renew a lease: what takes them longer is somebody else's by then. */
  readonly lameWorkers?: number;
  readonly scrapers?: readonly string[];
  readonly onTrouble?: (where: string, error: unknown) => void;
}

const SHIPPED = fileURLToPath(new URL('../../../scrapers', import.meta.url));
const digest = (text: string) => hash('sha256', text);

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

export async function startFleet(options: FleetOptions) {
  const { onTrouble = () => {}, lameWorkers = 0 } = options;
  const scrapers = await loadScrapers([SHIPPED, ...(options.scrapers ?? [])]);
  const stop = new AbortController();
  const open = (listen: boolean) => openHands(options, listen, onTrouble);
  const controllers = Array.from({ length: options.controllers }, (_, index) => {
    const hands = open(true);
    const controller = new Controller({
      ...hands,
      holder: `controller-${index}`,
      deadLetters: hands.queue,
      makeRoom: async () => {},
      events: new EventStream(),
      settings: {
        leaseMs: options.leaseMs,
        lostAfterMs: LOST_AFTER_MS,
        leadMs: 3000,
        reapMs: Math.min(500, options.leaseMs / 4),
        pollMs: 1000,
        probeMs: 500,
        itemsPerBatch: 100,
      },
    });
    controller.events.subscribe((event) => {
      if (event.kind === 'engine-error') onTrouble(event.where, event.error);
    });
    controller.start();
    return { ...hands, controller };
  });
  const workers = Array.from({ length: options.workers }, (_, index) => {
    const { leaseMs, slots } = options;
    const hands = { ...open(false), id: `worker-${index}`, onError: onTrouble };
    const worker = new Worker({
      ...hands,
      leases: hands.ledger,
      source: receiveAndClaim({ ...hands, leases: hands.ledger }),
      scrapers,
      tools: NO_TOOLS,
      heartbeat: index < lameWorkers ? NO_HEARTBEAT : heartbeatOf(hands, leaseMs, onTrouble),
      settings: { lane: 'http', slots, leaseMs, drainGraceMs: 2000, settleEveryMs: 30_000 },
    });
    return { ...hands, working: worker.run(stop.signal) };
  });
  return {
    controllers,
    async stop() {
      stop.abort();
      await Promise.all(workers.map(({ working }) => working));
      await Promise.all(controllers.map(({ controller }) => controller.stop()));
      await Promise.all([...workers, ...controllers].map((hands) => hands.close()));
    },
  };
}

const NO_HEARTBEAT: Heartbeat = { hold() {}, drop() {}, onLost() {}, stop: async () => {} };

function heartbeatOf(
  { ledger, ...hands }: Pick<ReturnType<typeof openHands>, 'ledger' | 'queue' | 'clock'>,
  leaseMs: number,
  onTrouble: (where: string, error: unknown) => void,
): Heartbeat {
  return inProcessHeartbeat({ ...hands, leases: ledger, leaseMs, onTrouble: (error) => onTrouble('heartbeat', error) });
}

/** Short, because a fault proxy loses messages: in production a message is late far more often than lost. */
const LOST_AFTER_MS = 5000;

function openHands(
  { settings, overrides }: FleetOptions,
  listen: boolean,
  onTrouble: (where: string, error: unknown) => void,
) {
  const clock = systemClock();
  const clients = openAwsClients(overrides);
  const { ledger, leadership, ...dynamo } = openDynamoLedger({ ...clients, ...settings, clock, listen, onTrouble });
  const store = openS3ResultStore({ ...clients, ...settings, clock });
  const queue = openSqsQueue({ ...clients, ...settings, clock, onTrouble });
  return {
    ...{ clock, ledger, leadership, store, queue, digest, faults: NO_FAULTS },
    async probe() {
      await dynamo.probe();
      await store.probe();
    },
    async close() {
      await Promise.all([dynamo.close(), queue.close()]);
      clients.close();
    },
  };
}
