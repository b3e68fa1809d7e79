import type { Clock } from '../ports/clock.ts';
import type { ItemTime } from './item-time.ts';

/** Called when the time is over, or when the work was taken from us. */
type OnEnd = (why: 'late' | 'aborted') => void;

/**
 * Deadlines of a process's current work. A timer and a listener cost more than an empty item, so they are set in the
 * next turn of the event loop, for work that has not ended by then; until then no timer could fire anyway.
 */
export class Deadlines {
  readonly #clock: Clock;
  #begun: Watch[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `onEnd` is called at most once, and never after `end` of the result was called. */
  watch(time: ItemTime, signal: AbortSignal, onEnd: OnEnd): Watch {
    const watch = new Watch(this.#clock, time, signal, onEnd);
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

class Watch {
  readonly #clock: Clock;
  readonly #time: ItemTime;
  readonly #signal: AbortSignal;
  readonly #onEnd: OnEnd;
  #isOver = false;
  #timer: AbortController | null = null;
  readonly #onAbort = () => this.#tell('aborted');

  constructor(clock: Clock, time: ItemTime, signal: AbortSignal, onEnd: OnEnd) {
    this.#clock = clock;
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
    this.#timer = new AbortController();
    void this.#sleepThrough(this.#timer.signal);
  }

  /** The time may have stood still meanwhile: then some of it is left. */
  async #sleepThrough(ended: AbortSignal): Promise<void> {
    while (!this.#isOver) {
      const leftMs = this.#time.remainingMs();
      if (leftMs <= 0 && !this.#time.isStopped) this.#tell('late');
      else await this.#clock.sleep(this.#time.isStopped ? Math.max(leftMs, STOPPED_LOOK_MS) : leftMs, ended);
    }
  }

  /** The work has ended by itself. */
  end(): void {
    this.#isOver = true;
    if (this.#timer === null) return;
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#timer.abort(OVER);
  }

  #tell(why: 'late' | 'aborted'): void {
    if (this.#isOver) return;
    this.end();
    this.#onEnd(why);
  }
}

/** How often stopped time is looked at, if so little is left of it. */
const STOPPED_LOOK_MS = 100;

/** An abort without a reason creates an exception with a stack trace: a quarter of the cost of an empty item. */
const OVER = 'the work is over';
