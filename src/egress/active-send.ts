import { type Failure, failure } from '../domain/failure.ts';
import type { Clock } from '../ports/clock.ts';
import type { DeadlineWatch, Watched } from '../ports/deadline-watch.ts';
import type { Visit } from './web.ts';

/** Why a send is stopped early. */
export type Stop = { readonly kind: 'aborted' } | { readonly kind: 'failed'; readonly failure: Failure };

/** What is being waited for. */
export type Step = 'connection' | 'answer' | 'body';

const LATE: Readonly<Record<Step, (ms: number) => string>> = {
  connection: (ms) => `no connection within ${ms} ms`,
  // Up to the end of its headers: a server that sends them byte by byte has not answered.
  answer: (ms) => `no answer within ${ms} ms`,
  body: (ms) => `nothing more of the body within ${ms} ms`,
};

/**
 * One `send` in progress: the deadlines of its current step and of the whole, and what may stop it (a deadline, the
 * visit's signal, the closing of the web). The working code is called once, through `onStop`, and then releases what it
 * holds.
 */
export class ActiveSend implements Watched {
  dueAt = Number.POSITIVE_INFINITY;
  /** Null while it may continue. */
  stopped: Stop | null = null;
  /**
   * Null once it has ended. Nothing else of the visit is kept: V8 may hold what was once in a Set until the next full
   * collection, because tables that a Set has outgrown refer to their successors; and a visit leads to its whole page.
   */
  #signal: AbortSignal | null;
  readonly #totalMs: number;
  readonly #watch: DeadlineWatch;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #totalDueAt: number;
  #waitedMs = 0;
  #step: Step | null = null;
  #stepMs = 0;
  #stop: (() => void) | null = null;

  constructor({ signal, deadlines }: Visit, watch: DeadlineWatch, clock: Clock) {
    this.#signal = signal;
    this.#totalMs = deadlines.totalMs;
    this.#watch = watch;
    this.#clock = clock;
    this.#startedAt = clock.elapsed();
    this.#totalDueAt = this.#startedAt + this.#totalMs;
    signal.addEventListener('abort', this.#onAbort);
  }

  /** Excludes the time spent at host gates. */
  get ms(): number {
    return Math.round(this.#clock.elapsed() - this.#startedAt - this.#waitedMs);
  }

  /** From now on, `step` has `ms` of time. Calling it again restarts the time. */
  begin(step: Step, ms: number): void {
    this.#step = step;
    this.#stepMs = ms;
    this.dueAt = Math.min(this.#totalDueAt, this.#clock.elapsed() + ms);
    this.#watch.add(this);
  }

  /** A piece arrived: the next one has the same time. */
  again(): void {
    this.dueAt = Math.min(this.#totalDueAt, this.#clock.elapsed() + this.#stepMs);
  }

  /** We are the slow side now: only the deadline of the whole counts. */
  rest(): void {
    this.#step = null;
    this.dueAt = this.#totalDueAt;
  }

  /** The callback for being stopped. There is one at a time. */
  onStop(stop: (() => void) | null): void {
    this.#stop = stop;
    if (this.stopped !== null) stop?.();
  }

  /**
   * Waits to enter a host, which is not counted. Null if it was stopped meanwhile; then a late entry is left at once.
   */
  enter(ask: () => Promise<() => void>): Promise<(() => void) | null> {
    const from = this.#clock.elapsed();
    this.#watch.remove(this);
    const { promise, resolve, reject } = Promise.withResolvers<(() => void) | null>();
    let isOver = false;
    const end = (): boolean => {
      if (isOver) return false;
      isOver = true;
      this.#stop = null;
      const waitedMs = this.#clock.elapsed() - from;
      this.#waitedMs += waitedMs;
      this.#totalDueAt += waitedMs;
      return true;
    };
    this.onStop(() => {
      if (end()) resolve(null);
    });
    ask().then(
      (release) => {
        if (end()) resolve(release);
        else release();
      },
      (error: unknown) => {
        if (end()) reject(error);
      },
    );
    return promise;
  }

  stop(why: Stop): void {
    if (this.stopped !== null) return;
    this.stopped = why;
    this.#stop?.();
  }

  expire(): void {
    const message =
      this.#step === null || this.dueAt >= this.#totalDueAt
        ? `not done within ${this.#totalMs} ms, redirects included`
        : LATE[this.#step](this.#stepMs);
    this.stop({ kind: 'failed', failure: failure('timeout', message) });
  }

  end(): void {
    this.#stop = null;
    this.#watch.remove(this);
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#signal = null;
  }

  readonly #onAbort = (): void => this.stop({ kind: 'aborted' });
}
