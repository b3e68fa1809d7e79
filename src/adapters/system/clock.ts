import { randomBytes } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';

/** The only real clock: nothing else in `src/` reads the time, waits, or draws a random number. */
export class SystemClock implements Clock {
  readonly #nextId = idsInOrder();

  now(): number {
    return Date.now();
  }

  elapsed(): number {
    return performance.now();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const wakeAt = performance.now() + ms;
    let timer = setTimeout(tick, Math.min(ms, LONGEST_TIMER_MS));
    signal?.addEventListener('abort', wake, { once: true });
    return promise;

    function tick(): void {
      const left = wakeAt - performance.now();
      // Timers fire up to a millisecond early; that is not worth another one.
      if (left < 1) wake();
      else timer = setTimeout(tick, Math.min(left, LONGEST_TIMER_MS));
    }

    function wake(): void {
      clearTimeout(timer);
      // A signal may live as long as the process, and would remember every sleep that used it.
      signal?.removeEventListener('abort', wake);
      resolve();
    }
  }

  turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    setImmediate(resolve);
    return promise;
  }

  chance(): number {
    return Math.random();
  }

  id(): string {
    return this.#nextId(Date.now());
  }
}

export function systemClock(): Clock {
  return new SystemClock();
}

/** A longer timer overflows, and fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const COUNTS_PER_MS = 2 ** 12;

/**
 * UUIDs of version 7. Those of one process are strictly in order, because the twelve bits behind the time count on
 * within a millisecond; when they are used up, or the clock was set back, the time in the id goes ahead of the clock's.
 */
function idsInOrder(): (now: number) => string {
  let lastMs = 0;
  let count = 0;
  return (now) => {
    if (now > lastMs) {
      lastMs = now;
      count = 0;
    } else {
      count += 1;
      if (count === COUNTS_PER_MS) {
        lastMs += 1;
        count = 0;
      }
    }
    const bytes = randomBytes(16);
    bytes.writeUIntBE(lastMs, 0, 6);
    bytes.writeUInt16BE(0x7000 | count, 6);
    bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
    const hex = bytes.toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  };
}
