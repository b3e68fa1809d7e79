import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../src/ports/clock.ts';

/**
 * A clock that stops until a test moves it on. `advance` wakes sleepers in the order of their times, and lets
 * what each of them does come to rest before the next; `jump` sets the wall clock and leaves durations alone.
 */
export class FakeClock implements Clock {
  #now: number;
  #elapsed = 0;
  #seed: number;
  #ids = 0;
  readonly #sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();

  constructor({ now = 1_750_000_000_123, seed = 1 } = {}) {
    this.#now = now;
    this.#seed = seed;
  }

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const sleeper = {
      at: this.#elapsed + Math.max(0, ms),
      wake: () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', sleeper.wake);
        resolve();
      },
    };
    this.#sleepers.add(sleeper);
    signal?.addEventListener('abort', sleeper.wake, { once: true });
    return promise;
  }

  turn(): Promise<void> {
    return setImmediate();
  }

  chance(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#seed ^ (this.#seed >>> 15), this.#seed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  id(): string {
    this.#ids += 1;
    return `id-${String(this.#ids).padStart(8, '0')}`;
  }

  /** How many are asleep. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  async advance(ms: number): Promise<void> {
    await this.turn();
    const end = this.#elapsed + ms;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#goTo(next.at);
      next.wake();
      await this.turn();
    }
    this.#goTo(end);
  }

  jump(ms: number): void {
    this.#now += ms;
  }

  #next(end: number) {
    const due = [...this.#sleepers].filter((sleeper) => sleeper.at <= end);
    return due.sort((a, b) => a.at - b.at)[0];
  }

  #goTo(elapsed: number): void {
    this.#now += Math.max(0, elapsed - this.#elapsed);
    this.#elapsed = Math.max(elapsed, this.#elapsed);
  }
}
