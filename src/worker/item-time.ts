import type { Clock } from '../ports/clock.ts';

/** The time that an attempt at an item may take, all of its tries together. It stands still while the item waits for others. */
export class ItemTime {
  /** What it has in all. */
  readonly allMs: number;
  readonly #clock: Clock;
  readonly #begunAt: number;
  #uncountedMs = 0;
  #waits = 0;
  #waitingSince = 0;

  constructor(clock: Clock, allMs: number) {
    this.#clock = clock;
    this.allMs = allMs;
    this.#begunAt = clock.elapsed();
  }

  get isStopped(): boolean {
    return this.#waits > 0;
  }

  /** In whole milliseconds; 0 or less if it is over. */
  remainingMs(): number {
    const now = this.isStopped ? this.#waitingSince : this.#clock.elapsed();
    return this.allMs - Math.max(0, Math.round(now - this.#begunAt - this.#uncountedMs));
  }

  /** The time that `wait` takes does not count. */
  async stopDuring<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#waits === 0) this.#waitingSince = this.#clock.elapsed();
    this.#waits += 1;
    try {
      return await wait();
    } finally {
      this.#waits -= 1;
      if (this.#waits === 0) this.#uncountedMs += this.#clock.elapsed() - this.#waitingSince;
    }
  }
}
