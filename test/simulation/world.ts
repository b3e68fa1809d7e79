import { Chaos } from './chaos.ts';
import { Crew } from './crew.ts';
import { Dice } from './dice.ts';
import { runSteps } from './driver.ts';
import { type Census, FaultPlan } from './fault-plan.ts';
import { ForgetfulSites } from './forgetful-sites.ts';
import { drawHangingSite } from './hanging-site.ts';
import { LinkedItems } from './linked-items.ts';
import { openMemoryBackend } from './memory-backend.ts';
import { Network } from './network.ts';
import { HostOracle } from './oracle/hosts.ts';
import { Oracle } from './oracle/oracle.ts';
import { NO_BUG, type Plant } from './plant.ts';
import { playHangingSite } from './play-hanging-site.ts';
import { drawSharedHost, TemperedHost } from './shared-host.ts';
import { Disk, type Sim, type Timing } from './sim.ts';
import { EPOCH, SimProcess } from './sim-process.ts';
import { SqliteBackend } from './sqlite-backend.ts';
import { LONGEST_CALL_MS } from './store-port.ts';
import { Timeline } from './timeline.ts';
import { Trace } from './trace.ts';
import { User } from './user.ts';

export type StoreKind = 'memory' | 'sqlite';

export interface RunOptions {
  readonly seed: number;
  readonly store: StoreKind;
  readonly plant?: Plant;
  readonly print?: (line: string) => void;
}

export interface RunResult {
  readonly seed: number;
  readonly hash: string;
  readonly violation: string | null;
  /** The last lines of what happened. */
  readonly last: readonly string[];
  readonly census: Census;
  readonly virtualMs: number;
  readonly lines: number;
  readonly faults: readonly string[];
}

/** After the faults have stopped, every job must end within this time. */
const PATIENCE_MS = 1_800_000;

/** The longest run of 20,000 healthy ones used a tenth of it. */
const MAX_LINES = 100_000;

/** Runs one seed to its end, or to the first violation. */
export async function runSeed(options: RunOptions): Promise<RunResult> {
  const world = new World(options);
  const onRejection = (error: unknown) => {
    const what = error instanceof Error ? error.stack : String(error);
    world.sim.oracle.fail(`nobody handled a rejection: ${what}`);
  };
  process.on('unhandledRejection', onRejection);
  try {
    world.begin();
    await runSteps(world);
    if (world.sim.oracle.violation === null) await world.sim.oracle.checkAll();
    return world.result();
  } finally {
    process.off('unhandledRejection', onRejection);
    world.sim.backend.dispose();
  }
}

/** One run: its processes, what goes wrong and until when, and its end. */
class World {
  readonly sim: Sim;
  readonly #dice: Dice;
  readonly #crew: Crew;
  readonly #chaos: Chaos;
  readonly #user: User;
  readonly #userProcess: SimProcess;
  readonly #faultsUntil: number;
  #isDone = false;
  #isLooking = false;

  constructor({ seed, store, plant = NO_BUG, print }: RunOptions) {
    this.#dice = new Dice(seed, 'world');
    this.sim = build(seed, store, plant, this.#dice, print ?? null);
    this.#userProcess = new SimProcess('user', this.sim.timeline, seed);
    this.#user = new User(this.#userProcess, this.sim, new Dice(seed, 'user'));
    this.sim.onEngineDecision = (jobId) => this.#user.meddle(jobId);
    this.#crew = new Crew(this.sim, new Dice(seed, 'crew'), (process) => this.#chaos.skew(process));
    this.#chaos = new Chaos(this.sim, new Dice(seed, 'chaos'), this.#crew);
    this.#faultsUntil = this.#dice.logBetween(4000, 60_000);
  }

  begin(): void {
    const dice = this.#dice;
    const { timeline, backend } = this.sim;
    const controllers = backend.kind === 'memory' ? dice.pick([1, 1, 2]) : 1;
    const workers = Array.from({ length: dice.int(1, 4) }, () => dice.int(1, 4));
    const { hangingSite } = this.sim;
    this.#crew.start(controllers, hangingSite?.workers ?? workers);
    if (hangingSite === null) this.#user.submit(dice.pick([1, 1, 2, 3]), dice.pick([3, 12, 25, 40]));
    else playHangingSite(hangingSite, this.sim, this.#user, dice);
    this.#user.interfere();
    this.#chaos.begin();
    timeline.after(this.#faultsUntil, () => this.#endFaults());
  }

  step(): boolean {
    const { oracle, timeline, trace } = this.sim;
    if (oracle.violation !== null) return false;
    if (oracle.isChecking || this.#isLooking) return true;
    if (oracle.isDirty) {
      void oracle.check();
      return true;
    }
    if (this.#isDone) return false;
    const isInTime = trace.lines < MAX_LINES && timeline.step(this.#faultsUntil + PATIENCE_MS);
    if (isInTime) return true;
    oracle.fail('a job did not end, although nothing went wrong any more');
    return false;
  }

  result(): RunResult {
    const { seed, trace, oracle, faults, timeline } = this.sim;
    return {
      seed,
      hash: trace.hash,
      violation: oracle.violation,
      last: trace.last(),
      census: faults.census,
      virtualMs: timeline.now,
      lines: trace.lines,
      faults: faults.kinds(),
    };
  }

  #endFaults(): void {
    const { faults, trace, timeline } = this.sim;
    trace.add(timeline.now, 'world', 'no more faults');
    faults.stop();
    this.#chaos.makeRoom();
    this.#crew.heal();
    this.#watch();
  }

  /** Checks from time to time whether all jobs have ended, and lets the user go on with jobs that wait for one. */
  #watch(): void {
    this.sim.timeline.after(1500, () => {
      this.#isLooking = true;
      void this.#look().then((isDone) => {
        this.#isLooking = false;
        this.#isDone = isDone;
        if (!isDone) this.#watch();
      });
    });
  }

  async #look(): Promise<boolean> {
    const { backend, oracle } = this.sim;
    if (backend.isAway || !this.#user.hasSubmittedAll || !oracle.isUpToDate) return false;
    let isDone = true;
    for (const jobId of oracle.jobIds) {
      const job = await backend.ledger.job(jobId);
      if (job === null) continue;
      // The leader ends what was begun, without being asked again.
      if (job.removing) {
        isDone = false;
        continue;
      }
      const isOver = (job.status === 'completed' || job.status === 'cancelled') && job.manifest !== null;
      if (isOver && !this.#user.wantsMore(job)) continue;
      isDone = false;
      this.#user.goOn(job);
    }
    return isDone;
  }
}

function build(seed: number, store: StoreKind, plant: Plant, dice: Dice, print: ((line: string) => void) | null): Sim {
  const timeline = new Timeline(new Dice(seed, 'order'));
  const trace = new Trace(print);
  const hangingSite = drawHangingSite(new Dice(seed, 'hanging site'));
  const faults = new FaultPlan(seed, new Map(), hangingSite === null ? null : 'site-hangs');
  const timing = timingOf(dice, store);
  const services = new SimProcess('services', timeline, seed);
  const backend =
    store === 'memory'
      ? openMemoryBackend(services.clock, plant)
      : new SqliteBackend(new Dice(seed, 'disk'), dice.pick([0, 0, 5, 50]), timing.leaseMs, () => timeline.now);
  const disk = new Disk();
  const links = new LinkedItems(seed, hangingSite === null && new Dice(seed, 'worlds with links').happens(0.4));
  const oracle = new Oracle({
    links,
    backend: () => backend,
    hasItemManifests: timing.itemManifests,
    mayNotKnow: ({ bornAt }) =>
      Math.max(disk.wasFullAt, timeline.wallSetAt) >= bornAt - timing.leaseMs &&
      timeline.now - bornAt < 2 * timing.leaseMs,
  });
  const sharedHost =
    hangingSite === null ? drawSharedHost(new Dice(seed, 'shared host'), new Dice(seed, 'host temper')) : null;
  const hostOracle =
    sharedHost === null
      ? null
      : new HostOracle({
          host: sharedHost,
          now: () => timeline.now,
          wallTime: () => EPOCH + timeline.now,
          areClocksRight: faults.hasRightClocks,
          isHealing: () => faults.isOff,
          fail: (message) => oracle.fail(message),
        });
  const network = new Network({
    timeline,
    trace,
    faults,
    dice: new Dice(seed, 'network'),
    latencyMs: dice.pick([
      { min: 0, max: 0 },
      { min: 0.1, max: 2 },
      { min: 1, max: 40 },
    ]),
  });
  return {
    seed,
    timeline,
    dice: new Dice(seed, 'parts'),
    faults,
    trace,
    network,
    backend,
    oracle,
    plant,
    timing,
    disk,
    hangingSite,
    sharedHost,
    temperedHost: sharedHost === null || sharedHost.temper === null ? null : new TemperedHost(sharedHost.temper),
    hostOracle,
    sites: new ForgetfulSites(seed, faults.isOn('site-forgets')),
    links,
    onEngineDecision() {},
  };
}

function timingOf(dice: Dice, store: StoreKind): Timing {
  const leaseMs = dice.pick([2000, 4000]);
  const leadMs = dice.pick([2000, 6000]);
  return {
    leaseMs,
    lostAfterMs: dice.pick([3000, 8000]),
    leadMs,
    handoverMs: store === 'memory' ? leadMs + LONGEST_CALL_MS : 0,
    reapMs: dice.pick([leaseMs / 8, leaseMs / 4]),
    pollMs: dice.pick([1000, 4000]),
    probeMs: 1000,
    itemsPerBatch: dice.int(1, 5),
    drainGraceMs: dice.pick([0, 500, 3000]),
    settleEveryMs: dice.pick([0, 50, 1000]),
    itemManifests: dice.happens(0.5),
  };
}
