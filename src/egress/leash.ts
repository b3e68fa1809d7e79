import { type Failure, failure } from '../domain/failure.ts';
import type { Clock } from '../ports/clock.ts';
import type { DeadlineWatch, Watched } from './deadline-watch.ts';
import type { Visit } from './web.ts';

/** Why a send ends before its time. */
export type Stop = { readonly kind: 'aborted' } | { readonly kind: 'failed'; readonly failure: Failure };

/** What is being waited for. */
export type Step = 'connection' | 'answer' | 'body';

const LATE: Readonly<Record<Step, (ms: number) => string>> = {
  connection: (ms) => `no connection within ${ms} ms`,
  // Up to the end of its headers: a server that sends them letter by letter has not answered.
  answer: (ms) => `no answer within ${ms} ms`,
  body: (ms) => `nothing more of the body within ${ms} ms`,
};

/**
 * What holds one send: the deadline of the step it is at, that of the whole, the visitor's signal, and the end of
 * everything. Whoever is at work is told once, by `onStop`, and puts down what it holds.
 */
export class Leash implements Watched {
  dueAt = Number.POSITIVE_INFINITY;
  /** Null as long as it may go on. */
  stopped: Stop | null = null;
  readonly #visit: Visit;
  readonly #watch: DeadlineWatch;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #totalDueAt: number;
  #waitedMs = 0;
  #step: Step | null = null;
  #stepMs = 0;
  #stop: (() => void) | null = null;

  constructor(visit: Visit, watch: DeadlineWatch, clock: Clock) {
    this.#visit = visit;
    this.#watch = watch;
    this.#clock = clock;
    this.#startedAt = clock.elapsed();
    this.#totalDueAt = this.#startedAt + visit.deadlines.totalMs;
    visit.signal.addEventListener('abort', this.#onAbort);
  }

  /** Without the time that was spent waiting for a turn. */
  get ms(): number {
    return Math.round(this.#clock.elapsed() - this.#startedAt - this.#waitedMs);
  }

  /** From now on `step` has so much time. Told again, it has it again. */
  begin(step: Step, ms: number): void {
    this.#step = step;
    this.#stepMs = ms;
    this.dueAt = Math.min(this.#totalDueAt, this.#clock.elapsed() + ms);
    this.#watch.add(this);
  }

  /** A piece came: the same time again for the next one. */
  again(): void {
    this.dueAt = Math.min(this.#totalDueAt, this.#clock.elapsed() + this.#stepMs);
  }

  /** It is us who take our time. Only the deadline of the whole holds. */
  rest(): void {
    this.#step = null;
    this.dueAt = this.#totalDueAt;
  }

  /** Who is to be told of a stop. There is one at a time. */
  onStop(stop: (() => void) | null): void {
    this.#stop = stop;
    if (this.stopped !== null) stop?.();
  }

  /** Waits for a turn, which is not counted. Null if it was stopped meanwhile; a turn that comes later is given back. */
  async turn(ask: () => Promise<() => void>): Promise<(() => void) | null> {
    const from = this.#clock.elapsed();
    this.#watch.remove(this);
    const { promise, resolve } = Promise.withResolvers<null>();
    this.onStop(() => resolve(null));
    const asked = ask();
    try {
      const release = await Promise.race([asked, promise]);
      if (release === null || this.stopped !== null) {
        asked.then((late) => late()).catch(() => undefined);
        return null;
      }
      return release;
    } finally {
      this.#stop = null;
      const waitedMs = this.#clock.elapsed() - from;
      this.#waitedMs += waitedMs;
      this.#totalDueAt += waitedMs;
    }
  }

  stop(why: Stop): void {
    if (this.stopped !== null) return;
    this.stopped = why;
    this.#stop?.();
  }

  expire(): void {
    const message =
      this.#step === null || this.dueAt >= this.#totalDueAt
        ? `not done within ${this.#visit.deadlines.totalMs} ms, redirects included`
        : LATE[this.#step](this.#stepMs);
    this.stop({ kind: 'failed', failure: failure('timeout', message) });
  }

  end(): void {
    this.#stop = null;
    this.#watch.remove(this);
    this.#visit.signal.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.stop({ kind: 'aborted' });
}
