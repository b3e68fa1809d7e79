import type { Actor } from './actors.ts';
import type { Dice } from './dice.ts';
import type { FaultKind } from './fault-plan.ts';
import { setClocks } from './set-clocks.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';

/** What the world does to its processes at any moment. */
export interface Victims {
  actors(kind: Actor['kind']): readonly Actor[];
  crash(actor: Actor): void;
  /** All processes die at once, and what was not on the disk is gone. */
  crashMachine(): boolean;
}

/** Faults that come at a time and not at an occasion: crashes, stalls, clocks, a full disk. */
export class Chaos {
  readonly #sim: Sim;
  readonly #dice: Dice;
  readonly #victims: Victims;

  constructor(sim: Sim, dice: Dice, victims: Victims) {
    this.#sim = sim;
    this.#dice = dice;
    this.#victims = victims;
  }

  begin(): void {
    this.#now_and_then('worker-crash-any-moment', 8000, () =>
      this.#hit('worker', (actor) => this.#victims.crash(actor)),
    );
    this.#now_and_then('controller-crash-any-moment', 12_000, () =>
      this.#hit('controller', (actor) => this.#victims.crash(actor)),
    );
    this.#now_and_then('worker-stall', 8000, () => this.#hit('worker', ({ process }) => this.#stall(process)));
    this.#now_and_then('controller-stall', 10_000, () =>
      this.#hit('controller', ({ process }) => this.#stall(process)),
    );
    this.#now_and_then('worker-drain', 6000, () => this.#hit('worker', (actor) => actor.stop()));
    this.#now_and_then('controller-restart', 10_000, () => this.#hit('controller', (actor) => actor.stop()));
    this.#now_and_then('clock-jump', 8000, () => this.#jump());
    this.#now_and_then('clock-forward', 2500, () => setClocks(this.#sim, this.#dice, 'forward'));
    this.#now_and_then('clock-back', 5000, () => setClocks(this.#sim, this.#dice, 'back'));
    this.#now_and_then('disk-full', 15_000, () => this.#fill());
    if (this.#sim.backend.kind === 'sqlite') {
      this.#now_and_then('machine-crash', 15_000, () => this.#victims.crashMachine());
    }
  }

  /** Clocks that are off from the start, by as much as badly kept machines are. */
  skew(process: SimProcess): void {
    if (!this.#sim.faults.strikes('clock-skew', 10)) return;
    const { leaseMs } = this.#sim.timing;
    process.skewMs = Math.round(this.#dice.between(-leaseMs / 2, leaseMs / 2));
    this.#sim.oracle.strikes.areClocksOff = true;
  }

  #now_and_then(kind: FaultKind, meanMs: number, strike: () => boolean): void {
    const { faults, timeline } = this.#sim;
    if (!faults.isOn(kind)) return;
    const again = () => {
      if (faults.isOff) return;
      if (strike()) faults.count(kind);
      timeline.after(this.#dice.between(0.1, 2) * meanMs, again);
    };
    timeline.after(this.#dice.between(0, meanMs), again);
  }

  #hit(kind: Actor['kind'], strike: (actor: Actor) => void): boolean {
    const actors = this.#victims.actors(kind);
    if (actors.length === 0) return false;
    const actor = this.#dice.pick(actors);
    this.#sim.trace.add(this.#sim.timeline.now, actor.process.name, 'is hit');
    strike(actor);
    return true;
  }

  #stall(process: SimProcess): void {
    process.stall(this.#dice.logBetween(200, 4 * this.#sim.timing.leaseMs));
  }

  #jump(): boolean {
    this.#sim.oracle.strikes.areClocksOff = true;
    return this.#hit(this.#dice.pick(['worker', 'controller'] as const), ({ process }) => {
      const ms = this.#dice.logBetween(100, 60_000) * (this.#dice.happens(0.5) ? 1 : -1);
      process.skewMs += Math.round(ms);
    });
  }

  #fill(): boolean {
    const { disk, timeline } = this.#sim;
    const what = this.#dice.pick(['ledger', 'store', 'both'] as const);
    disk.isLedgerFull ||= what !== 'store';
    disk.isStoreFull ||= what !== 'ledger';
    disk.wasFullAt = Number.POSITIVE_INFINITY;
    this.#sim.trace.add(timeline.now, 'disk', `is full: ${what}`);
    timeline.after(this.#dice.logBetween(100, 15_000), () => this.makeRoom());
    return true;
  }

  makeRoom(): void {
    const { disk, timeline, trace } = this.#sim;
    disk.isLedgerFull = false;
    disk.isStoreFull = false;
    disk.wasFullAt = timeline.now;
    trace.add(timeline.now, 'disk', 'has room');
  }
}
