import type { Clock } from '../ports/clock.ts';

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
  watch(ms: number, signal: AbortSignal, onEnd: OnEnd): Watch {
    const watch = new Watch(this.#clock, ms, signal, onEnd);
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
  readonly #until: number;
  readonly #signal: AbortSignal;
  readonly #onEnd: OnEnd;
  #isOver = false;
  #timer: AbortController | null = null;
  readonly #onAbort = () => this.#tell('aborted');

  constructor(clock: Clock, ms: number, signal: AbortSignal, onEnd: OnEnd) {
    this.#clock = clock;
    this.#until = clock.elapsed() + ms;
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
    void this.#clock.sleep(this.#until - this.#clock.elapsed(), this.#timer.signal).then(() => this.#tell('late'));
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

/** An abort without a reason creates an exception with a stack trace: a quarter of the cost of an empty item. */
const OVER = 'the work is over';
