import { type Actor, type ControllerActor, startController, startWorker } from './actors.ts';
import type { Victims } from './chaos.ts';
import type { Dice } from './dice.ts';
import { sitesOf } from './play-hanging-site.ts';
import { Scripts } from './scripted-scraper.ts';
import type { Sim } from './sim.ts';
import { SimProcess } from './sim-process.ts';
import { SqliteBackend } from './sqlite-backend.ts';

/** All processes with the engine in them, and the supervisor that starts another one whenever one has ended. */
export class Crew implements Victims {
  readonly #sim: Sim;
  readonly #dice: Dice;
  readonly #scripts: Scripts;
  readonly #onBirth: (process: SimProcess) => void;
  readonly #alive = new Set<Actor>();
  #births = 0;

  constructor(sim: Sim, dice: Dice, onBirth: (process: SimProcess) => void) {
    this.#sim = sim;
    this.#dice = dice;
    this.#onBirth = onBirth;
    const hasHeld = sim.hangingSite === null;
    this.#scripts = new Scripts(sim.seed, { hasPoison: sim.faults.isOn('poison'), hasHeld, fixed: sitesOf(sim) });
  }

  start(controllers: number, workerSlots: readonly number[]): void {
    for (let number = 0; number < controllers; number += 1) this.#startController();
    for (const slots of workerSlots) this.#startWorker(slots);
  }

  actors(kind: Actor['kind']): readonly Actor[] {
    return [...this.#alive].filter((actor) => actor.kind === kind);
  }

  crash(actor: Actor): void {
    this.#die(actor.process, actor.kind);
  }

  crashMachine(): boolean {
    const { backend, oracle, faults, trace, timeline } = this.#sim;
    if (!(backend instanceof SqliteBackend) || backend.isAway) return false;
    trace.add(timeline.now, 'machine', 'goes down');
    const torn = backend.crashMachine();
    if (torn.length > 0) faults.count('artifact-torn');
    oracle.ownerDied(torn);
    this.#sim.hostOracle?.forget();
    for (const { process } of [...this.#alive]) process.end();
    return true;
  }

  /** What was done to the processes is over: they go on, by a clock that is right. */
  heal(): void {
    for (const { process } of this.#alive) {
      process.wake();
      process.skewMs = 0;
    }
  }

  #die(process: SimProcess, kind: Actor['kind']): void {
    if (process.isOver) return;
    this.#sim.trace.add(this.#sim.timeline.now, process.name, 'dies');
    if (kind === 'controller' && this.#sim.backend instanceof SqliteBackend) {
      this.#sim.backend.crash();
      this.#sim.oracle.ownerDied();
    }
    process.end();
  }

  #startController(): void {
    const process = this.#born('c');
    const { backend } = this.#sim;
    const start = () => {
      if (process.isOver) return;
      this.#enlist(
        startController(process, this.#sim, () => this.#die(process, 'controller')),
        () => this.#startController(),
      );
    };
    if (backend instanceof SqliteBackend) void backend.open(process).then(start);
    else start();
  }

  #startWorker(slots: number): void {
    const process = this.#born('w');
    process.hasPatientTransport = true;
    const actor = startWorker(process, this.#sim, slots, this.#scripts, () => this.#die(process, 'worker'));
    this.#enlist(actor, () => {
      this.#tellLost(process.name);
      this.#startWorker(slots);
    });
  }

  /** The owner of the connection, if there is one, sees that it is cut. */
  #tellLost(worker: string): void {
    if (!this.#dice.happens(0.6)) return;
    const witness = [...this.#alive].find((actor): actor is ControllerActor => actor.kind === 'controller');
    witness?.process.later(this.#dice.between(0, 500), () => witness.workerLost(worker));
  }

  #enlist(actor: Actor, replace: () => void): void {
    this.#alive.add(actor);
    const { timeline } = this.#sim;
    actor.process.onEnd(() => {
      this.#alive.delete(actor);
      timeline.after(this.#dice.logBetween(10, 3000), replace);
    });
  }

  #born(kind: string): SimProcess {
    this.#births += 1;
    const { timeline, seed, trace } = this.#sim;
    const process = new SimProcess(`${kind}${this.#births}`, timeline, seed);
    this.#onBirth(process);
    trace.add(timeline.now, process.name, 'starts');
    return process;
  }
}
