import { hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type AwsSettings, type ClientOverrides, openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { DynamoHostShares } from '../../../src/adapters/aws/host-shares.ts';
import { openDynamoLedger } from '../../../src/adapters/aws/ledger.ts';
import { openS3ResultStore } from '../../../src/adapters/aws/result-store.ts';
import { openSqsQueue } from '../../../src/adapters/aws/work-queue.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { loadConfig } from '../../../src/config.ts';
import { Controller, type ControllerSettings } from '../../../src/controller/engine/controller.ts';
import { EventStream } from '../../../src/controller/engine/events.ts';
import { PoliteHostGate } from '../../../src/egress/polite-host-gate.ts';
import { awsPace, SHARE_LEASE_MS } from '../../../src/main/aws-backend.ts';
import { NO_FAULTS } from '../../../src/ports/faults.ts';
import { loadScrapers } from '../../../src/scraping/registry.ts';
import type { Heartbeat } from '../../../src/worker/heartbeat.ts';
import { receiveAndClaim } from '../../../src/worker/receive-and-claim.ts';
import { Worker } from '../../../src/worker/worker.ts';
import { inProcessHeartbeat } from '../in-process-heartbeat.ts';
import { openMemoryRecordings } from '../memory/recordings.ts';
import { NO_TOOLS } from '../no-tools.ts';

/**
 * Controllers and workers on AWS, all in this process, each with clients of its own: any number of them, without
 * starting as many processes.
 */
export interface FleetOptions {
  readonly settings: Omit<AwsSettings, 'overrides'>;
  readonly overrides: ClientOverrides;
  readonly controllers: number;
  readonly workers: number;
  readonly slots: number;
  /** The default is production's. Everything that depends on it follows. */
  readonly leaseMs?: number;
  /** For a test that has no time for production's pace. */
  readonly pace?: Partial<ControllerSettings>;
  /**
   * The first worker has one slot, never renews a lease and works alone until `startOthers`: what takes it longer
   * is another worker's by then.
   */
  readonly isFirstLame?: boolean;
  readonly scrapers?: readonly string[];
  readonly onTrouble?: (where: string, error: unknown) => void;
}

const SHIPPED = fileURLToPath(new URL('../../../scrapers', import.meta.url));
const digest = (text: string) => hash('sha256', text);

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

export async function startFleet(options: FleetOptions) {
  const { onTrouble = () => {}, isFirstLame = false } = options;
  const leaseMs = options.leaseMs ?? productionLeaseMs(options);
  const pace = awsPace(leaseMs);
  const scrapers = await loadScrapers([SHIPPED, ...(options.scrapers ?? [])]);
  const stop = new AbortController();
  const open = (listen: boolean) => openHands(options, listen, onTrouble);
  const controllers = Array.from({ length: options.controllers }, (_, index) => {
    const hands = open(true);
    const controller = new Controller({
      ...openMemoryRecordings(),
      ...hands,
      holder: `controller-${index}`,
      deadLetters: hands.queue,
      makeRoom: async () => {},
      events: new EventStream(),
      settings: { ...pace.controller, ...options.pace },
    });
    controller.events.subscribe((event) => {
      if (event.kind === 'engine-error') onTrouble(event.where, event.error);
    });
    controller.start();
    return { ...hands, controller };
  });
  const workers = Array.from({ length: options.workers }, (_, index) => {
    const isLame = isFirstLame && index === 0;
    const hands = { ...open(false), id: `worker-${index}`, onError: onTrouble };
    const worker = new Worker({
      ...openMemoryRecordings(),
      ...hands,
      leases: hands.ledger,
      source: receiveAndClaim({ ...hands, leases: hands.ledger }),
      scrapers,
      tools: { ...NO_TOOLS, gate: hands.gateOf(hands.id) },
      onWait() {},
      onSteps() {},
      isStillHeld: async () => true,
      heartbeat: isLame ? NO_HEARTBEAT : heartbeatOf(hands, leaseMs, onTrouble),
      settings: {
        ...{ lane: 'http', leaseMs, drainGraceMs: 2000, settleEveryMs: pace.settleEveryMs, orderGoodMs: 4000 },
        slots: isLame ? 1 : options.slots,
      },
    });
    return { ...hands, worker };
  });
  const working: Promise<void>[] = [];
  const start = (some: typeof workers) => working.push(...some.map(({ worker }) => worker.run(stop.signal)));
  start(isFirstLame ? workers.slice(0, 1) : workers);
  let stopping: Promise<void> | null = null;
  return {
    controllers,
    workers,
    /** All but a first one that is lame. */
    startOthers: () => start(workers.slice(1)),
    stop() {
      stopping ??= stopAll();
      return stopping;
    },
  };

  async function stopAll(): Promise<void> {
    stop.abort();
    await Promise.all(working);
    await Promise.all(controllers.map(({ controller }) => controller.stop()));
    await Promise.all([...workers, ...controllers].map((hands) => hands.close()));
  }
}

function productionLeaseMs({ settings }: FleetOptions): number {
  return loadConfig({ backend: { kind: 'aws', ...settings } }, {}).leaseMs;
}

const NO_HEARTBEAT: Heartbeat = { hold() {}, drop() {}, onLost() {}, stop: async () => {} };

function heartbeatOf(
  { ledger, ...hands }: Pick<ReturnType<typeof openHands>, 'ledger' | 'queue' | 'clock'>,
  leaseMs: number,
  onTrouble: (where: string, error: unknown) => void,
): Heartbeat {
  return inProcessHeartbeat({ ...hands, leases: ledger, leaseMs, onTrouble: (error) => onTrouble('heartbeat', error) });
}

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
  const shares = new DynamoHostShares({ ...clients, ...settings, clock });
  return {
    ...{ clock, ledger, leadership, store, queue, digest, faults: NO_FAULTS },
    gateOf: (process: string) =>
      new PoliteHostGate({ clock, shared: { shares, process, leaseMs: SHARE_LEASE_MS, onError: onTrouble } }),
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
