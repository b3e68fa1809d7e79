import { Controller } from '../../src/controller/engine/controller.ts';
import { EventStream } from '../../src/controller/engine/events.ts';
import { PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import type { Faults } from '../../src/ports/faults.ts';
import { KeyTaken } from '../../src/ports/result-store.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import { ScraperRegistry } from '../../src/scraping/registry.ts';
import { NotAnswered } from '../../src/worker/heartbeat.ts';
import { receiveAndClaim } from '../../src/worker/receive-and-claim.ts';
import { Worker } from '../../src/worker/worker.ts';
import { inProcessHeartbeat } from '../support/in-process-heartbeat.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { NO_TOOLS } from '../support/no-tools.ts';
import type { FaultKind } from './fault-plan.ts';
import { openDoor } from './host-door.ts';
import { leadershipFor, ledgerFor } from './ledger-port.ts';
import { SimFault } from './network.ts';
import { sha256 } from './oracle/manifest.ts';
import { cursedStore, hangingRenew, throwingAt } from './own-errors.ts';
import type { ControllerPorts, WorkerPorts } from './plant.ts';
import { queueFor, workerQueueFor } from './queue-port.ts';
import { type Scripts, scriptedScraper } from './scripted-scraper.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';
import { storeFor } from './store-port.ts';

/** A process with a piece of the engine in it. */
export interface Actor {
  readonly kind: 'worker' | 'controller';
  readonly process: SimProcess;
  /** Like a SIGTERM: it ends when it is ready. */
  stop(): void;
}

export interface ControllerActor extends Actor {
  readonly kind: 'controller';
  /** A worker's connection was lost. */
  workerLost(worker: string): void;
}

/** Dies or stalls at the named points, as often as the seed says. */
function faultsAt(
  process: SimProcess,
  sim: Sim,
  kinds: { crash: FaultKind; stall: FaultKind },
  crash: () => void,
): Faults {
  return {
    at(point) {
      if (sim.faults.strikes(kinds.crash, 0.3)) {
        sim.faults.count(`at ${point}`);
        sim.trace.add(sim.timeline.now, process.name, `crashes ${point}`);
        crash();
        return new Promise(() => {});
      }
      if (!sim.faults.strikes(kinds.stall, 0.3)) return;
      sim.trace.add(sim.timeline.now, process.name, `stalls ${point}`);
      process.stall(sim.dice.logBetween(0.1, 5) * sim.timing.leaseMs);
      return process.clock.turn();
    },
  };
}

function isMadeHere(sim: Sim, error: unknown): boolean {
  if (error instanceof SimFault || error instanceof StorageTrouble || error instanceof NotAnswered) return true;
  // A delivery that was counted just before the machine went down may be counted again, and finds its own old bytes.
  // So may one of a job whose id was used before: what a worker of the earlier one had sent arrived late.
  return error instanceof KeyTaken && (sim.backend.hasLostWrites || sim.oracle.hasUsedIdsAgain);
}

/** Errors that the simulation did not make are bugs, wherever they are caught. */
export function judgeError(sim: Sim, process: SimProcess, where: string, error: unknown): void {
  sim.trace.add(sim.timeline.now, process.name, `error in ${where}: ${String(error)}`);
  if (isMadeHere(sim, error)) return;
  const stack = error instanceof Error ? error.stack : String(error);
  sim.oracle.fail(`${process.name}: an unexpected error in ${where}: ${stack}`);
}

export function startController(process: SimProcess, sim: Sim, crash: () => void): ControllerActor {
  const { timing } = sim;
  const events = new EventStream();
  const own: ControllerPorts = {
    ledger: ledgerFor(process, sim),
    queue: queueFor(process, sim),
    store: storeFor(process, sim),
    leadership: leadershipFor(process, sim),
    clock: process.clock,
  };
  const ports = { ...own, ...sim.plant.controller?.(own) };
  const controller = new Controller({
    ...openMemoryRecordings(),
    ...ports,
    holder: process.name,
    faults: faultsAt(process, sim, { crash: 'controller-crash-at-point', stall: 'controller-stall' }, crash),
    events,
    digest: sha256,
    probe: () => probe(process, sim),
    makeRoom: async () => {},
    settings: timing,
  });
  events.subscribe((event) => {
    if (event.kind === 'engine-error') judgeError(sim, process, event.where, event.error);
    else if (!('jobId' in event || 'job' in event))
      sim.trace.add(sim.timeline.now, process.name, `event ${event.kind}`);
  });
  controller.start();
  let isStopping = false;
  return {
    kind: 'controller',
    process,
    stop: () => {
      if (!isStopping) void stopController(controller, process, sim);
      isStopping = true;
    },
    workerLost: (worker) => {
      void ports.ledger
        .abandon(worker, process.clock.now())
        .then(() => controller.workerLost())
        .catch((error: unknown) => judgeError(sim, process, 'abandon', error));
    },
  };
}

/** The owner of the ledger closes it, and the next owner begins with what it finds. */
async function stopController(controller: Controller, process: SimProcess, sim: Sim): Promise<void> {
  await controller.stop();
  await sim.backend.closed(process);
  if (sim.backend.kind === 'sqlite') sim.oracle.ownerDied();
  process.end();
}

function probe(process: SimProcess, sim: Sim): Promise<void> {
  return sim.network.call(process, {
    name: 'probe',
    said: '',
    trouble: () => sim.disk.ledgerTrouble() ?? sim.disk.storeTrouble(),
    callee: sim.backend,
    run: () => sim.backend.during(() => sim.backend.probe()),
    show: () => '',
  });
}

export function startWorker(process: SimProcess, sim: Sim, slots: number, scripts: Scripts, crash: () => void): Actor {
  const { timing } = sim;
  const ledger = hangingRenew(ledgerFor(process, sim), process, sim);
  const queue = workerQueueFor(process, sim);
  const onTrouble = (where: string) => (error: unknown) => judgeError(sim, process, where, error);
  const beats = sim.faults.strikes('heartbeat-lost', 3) ? deafRenew(ledger, process, sim) : ledger;
  const heartbeat = inProcessHeartbeat({
    leases: beats,
    queue,
    clock: process.clock,
    leaseMs: timing.leaseMs,
    onTrouble: onTrouble('heartbeat'),
  });
  const own: WorkerPorts = {
    ...{ leases: ledger, queue, heartbeat, clock: process.clock, leaseMs: timing.leaseMs },
    store: cursedStore(storeFor(process, sim), sim),
  };
  const ports = { ...own, ...sim.plant.worker?.(own) };
  const scrapers = new ScraperRegistry();
  const door = openDoor(process, sim, (where, error) => judgeError(sim, process, where, error));
  scrapers.add(scriptedScraper(process, sim, scripts, door, crash), 'the simulation');
  const stop = new AbortController();
  const shared = {
    ...ports,
    id: process.name,
    faults: throwingAt(
      faultsAt(process, sim, { crash: 'worker-crash-at-point', stall: 'worker-stall' }, crash),
      process,
      sim,
    ),
    onError: (where: string, error: unknown) => judgeError(sim, process, where, error),
  };
  const worker = new Worker({
    ...openMemoryRecordings(),
    ...shared,
    source: receiveAndClaim(shared),
    scrapers,
    digest: sha256,
    tools: { ...NO_TOOLS, gate: new PoliteHostGate({ clock: process.clock }) },
    onWait() {},
    onSteps() {},
    isStillHeld: async () => true,
    settings: {
      lane: 'http',
      slots,
      leaseMs: timing.leaseMs,
      drainGraceMs: timing.drainGraceMs,
      settleEveryMs: timing.settleEveryMs,
      orderGoodMs: 5000,
    },
  });
  worker.run(stop.signal).then(
    () => {
      // A worker whose owner went away before it could answer cannot know that it has given everything back.
      if (!sim.backend.isAway) sim.oracle.drained(process);
      sim.trace.add(sim.timeline.now, process.name, 'has stopped');
      process.end();
    },
    (error: unknown) => {
      // A worker that has lost its queue or its ledger ends, and is started again.
      judgeError(sim, process, 'run', error);
      process.end();
    },
  );
  return { kind: 'worker', process, stop: () => stop.abort() };
}

/** A heartbeat whose calls get nowhere for a while, although all else goes well. */
function deafRenew(ledger: WorkerPorts['leases'], process: SimProcess, sim: Sim): Pick<WorkerPorts['leases'], 'renew'> {
  const deafUntil = sim.timeline.now + sim.dice.logBetween(1000, 30_000);
  return {
    renew: async (tokens, until) => {
      if (sim.timeline.now >= deafUntil || sim.faults.isOff) return ledger.renew(tokens, until);
      process.wrong();
      throw new SimFault('renew: no answer');
    },
  };
}
