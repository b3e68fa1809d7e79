import type { Clock } from '../../src/ports/clock.ts';
import { Dice } from './dice.ts';
import type { Planned, Timeline } from './timeline.ts';

/**
 * One process of the simulated world: a worker, a controller or a user. All that it waits for comes back to it through
 * `later`, so that it is possible to
 *
 *   stall it  (SIGSTOP, a long pause of the machine): nothing comes back until it wakes up, then all of it at once
 *   end it    (a crash, or an exit): nothing comes back any more, and no line of it runs again
 */
export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly bornAt: number;
  readonly #timeline: Timeline;
  #isOver = false;
  #stalledUntil = 0;
  #waiting: { readonly happen: () => void; readonly planned: Planned }[] = [];
  readonly #callers: (() => void)[] = [];
  readonly #onEnd: (() => void)[] = [];
  /** Calls that get lost on the way are repeated without the knowledge of the process. */
  hasPatientTransport = false;
  /** How far its wall clock is off. */
  skewMs = 0;
  #wrongedUntil = Number.NEGATIVE_INFINITY;

  constructor(name: string, timeline: Timeline, seed: number) {
    this.name = name;
    this.#timeline = timeline;
    this.bornAt = timeline.now;
    this.clock = new ProcessClock(this, timeline, new Dice(seed, `process ${name}`));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isStalled(): boolean {
    return this.#timeline.now < this.#stalledUntil;
  }

  /** For callers of a stalled process: `happen` runs when it wakes up, or ends. */
  whenAwake(happen: () => void): void {
    this.#callers.push(happen);
  }

  /** Lets something happen inside this process: not before it wakes up, and never once it has ended. */
  later(delayMs: number, happen: () => void): Planned {
    const planned = this.#timeline.after(delayMs, () => this.#enter(happen, planned));
    return planned;
  }

  stall(ms: number): void {
    this.#stalledUntil = Math.max(this.#stalledUntil, this.#timeline.now + ms);
    this.#timeline.after(ms, () => {
      if (!this.isStalled) this.wake();
    });
  }

  wake(): void {
    this.wrong();
    this.#stalledUntil = 0;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { happen, planned } of waiting) this.#again(happen, planned);
    this.#letIn();
  }

  /** The world wrongs it, now or for a while. */
  wrong(ms = 0): void {
    this.#wrongedUntil = Math.max(this.#wrongedUntil, this.#timeline.now + ms);
  }

  /** A healthy worker keeps its leases; one that was wronged, or is stalled, may lose them. */
  get wrongedAt(): number {
    return Math.min(this.#timeline.now, Math.max(this.#wrongedUntil, this.#stalledUntil));
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const tell of this.#onEnd) tell();
    this.#letIn();
  }

  onEnd(tell: () => void): void {
    this.#onEnd.push(tell);
  }

  #enter(happen: () => void, planned: Planned): void {
    if (this.#isOver) return;
    if (!this.isStalled) {
      happen();
      return;
    }
    const entry = { happen, planned };
    this.#waiting.push(entry);
    planned.off = () => {
      this.#waiting = this.#waiting.filter((other) => other !== entry);
    };
  }

  #letIn(): void {
    for (const happen of this.#callers.splice(0)) this.#timeline.after(0, happen);
  }

  #again(happen: () => void, planned: Planned): void {
    const again = this.#timeline.after(0, () => this.#enter(happen, planned));
    planned.off = () => again.off();
  }
}

/** The first of March of a leap year, so that a zero is never mistaken for a date. */
export const EPOCH = 1_709_251_200_000;

class ProcessClock implements Clock {
  readonly #process: SimProcess;
  readonly #timeline: Timeline;
  readonly #dice: Dice;
  #ids = 0;

  constructor(process: SimProcess, timeline: Timeline, dice: Dice) {
    this.#process = process;
    this.#timeline = timeline;
    this.#dice = dice;
  }

  now(): number {
    return Math.floor(EPOCH + this.#timeline.now + this.#timeline.wallShiftMs + this.#process.skewMs);
  }

  elapsed(): number {
    return this.#timeline.now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const planned = this.#process.later(ms, () => {
      signal?.removeEventListener('abort', wake);
      resolve();
    });
    const wake = () => {
      planned.off();
      resolve();
    };
    signal?.addEventListener('abort', wake, { once: true });
    return promise;
  }

  turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#process.later(0, resolve);
    return promise;
  }

  chance(): number {
    return this.#dice.next();
  }

  id(): string {
    this.#ids += 1;
    return `${this.#process.name}-${this.#ids}`;
  }
}
