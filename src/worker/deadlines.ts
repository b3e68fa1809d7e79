import type { Clock } from '../ports/clock.ts';
import { DeadlineWatch, type Watched } from '../ports/deadline-watch.ts';
import type { ItemTime } from './item-time.ts';

/** Called when the time is over, or when the work was taken from us. */
type OnEnd = (why: 'late' | 'aborted') => void;

/**
 * Deadlines of a process's current work. A listener costs more than an empty item, so it is set in the next turn of the
 * event loop, for work that has not ended by then; until then no timer could fire anyway. All have one timer.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #armed: ArmedWatches;
  #begun: ItemWatch[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#armed = new ArmedWatches(clock);
  }

  /** `onEnd` is called at most once, and never after `end` of the result was called. */
  watch(time: ItemTime, signal: AbortSignal, onEnd: OnEnd): Pick<ItemWatch, 'end'> {
    const watch = new ItemWatch(this.#armed, time, signal, onEnd);
    this.#begun.push(watch);
    if (this.#begun.length === 1) void this.#armSoon();
    return watch;
  }

  async #armSoon(): Promise<void> {
    await this.#clock.turn();
    const begun = this.#begun;
    this.#begun = [];
    for (const watch of begun) watch.arm();
  }
}

/** Those that have a deadline. Without any, there is no timer that could keep the process alive. */
class ArmedWatches {
  readonly #clock: Clock;
  readonly #watch: DeadlineWatch;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#watch = new DeadlineWatch(clock);
  }

  begin(): void {
    this.#count += 1;
  }

  /** That moment by the clock's `elapsed()`. */
  dueIn(ms: number): number {
    return this.#clock.elapsed() + ms;
  }

  expect(watched: Watched): void {
    this.#watch.add(watched);
  }

  end(watched: Watched): void {
    this.#watch.remove(watched);
    this.#count -= 1;
    if (this.#count === 0) this.#watch.close();
  }
}

class ItemWatch implements Watched {
  dueAt = Number.POSITIVE_INFINITY;
  readonly #armed: ArmedWatches;
  readonly #time: ItemTime;
  readonly #signal: AbortSignal;
  readonly #onEnd: OnEnd;
  #isArmed = false;
  #isOver = false;
  readonly #onAbort = () => this.#tell('aborted');

  constructor(armed: ArmedWatches, time: ItemTime, signal: AbortSignal, onEnd: OnEnd) {
    this.#armed = armed;
    this.#time = time;
    this.#signal = signal;
    this.#onEnd = onEnd;
  }

  arm(): void {
    if (this.#isOver) return;
    if (this.#signal.aborted) {
      this.#tell('aborted');
      return;
    }
    this.#signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#isArmed = true;
    this.#armed.begin();
    this.expire();
  }

  /** The time may have stood still meanwhile: then some of it is left. */
  expire(): void {
    const leftMs = this.#time.remainingMs();
    if (leftMs <= 0 && !this.#time.isStopped) {
      this.#tell('late');
      return;
    }
    this.dueAt = this.#armed.dueIn(this.#time.isStopped ? Math.max(leftMs, STOPPED_LOOK_MS) : leftMs);
    this.#armed.expect(this);
  }

  /** The work has ended by itself. */
  end(): void {
    this.#isOver = true;
    if (!this.#isArmed) return;
    this.#isArmed = false;
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#armed.end(this);
  }

  #tell(why: 'late' | 'aborted'): void {
    if (this.#isOver) return;
    this.end();
    this.#onEnd(why);
  }
}

/** How often stopped time is looked at, if so little is left of it. */
const STOPPED_LOOK_MS = 100;
