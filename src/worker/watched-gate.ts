import type { HostAnswer } from '../domain/host-outage.ts';
import type { TroubleRate } from '../domain/host-trouble.ts';
import type { Clock } from '../ports/clock.ts';
import type { GatePause, HostGate, RetryAnswer } from '../ports/host-gate.ts';

/** Notified of every request, for the record of what a job did at each host. */
export interface RequestWatch {
  /** False if it does not watch that host; then `ended` must not be called. */
  started(host: string, job: string, now: number): boolean;
  ended(host: string, job: string, now: number): void;
  paused(host: string, now: number, until: number): void;
}

/** The gate as lent to one job. One is created for every batch, so its methods are on the prototype. */
export class WatchedGate implements HostGate {
  readonly #gate: HostGate;
  readonly #job: string;
  readonly #watch: RequestWatch;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(gate: HostGate, job: string, watch: RequestWatch, clock: Pick<Clock, 'now'>) {
    this.#gate = gate;
    this.#job = job;
    this.#watch = watch;
    this.#clock = clock;
  }

  async enter(host: string, patienceMs: number, signal: AbortSignal): Promise<() => void> {
    const leave = await this.#gate.enter(host, patienceMs, signal);
    let isInside = this.#watch.started(host, this.#job, this.#clock.now());
    return () => {
      if (isInside) this.#watch.ended(host, this.#job, this.#clock.now());
      isInside = false;
      leave();
    };
  }

  hold(host: string, ms: number, why: string): void {
    const now = this.#clock.now();
    if (ms > 0) this.#watch.paused(host, now, now + ms);
    this.#gate.hold(host, ms, why);
  }

  noteTrouble(host: string): TroubleRate {
    return this.#gate.noteTrouble(host);
  }

  noteAnswer(host: string, answer: HostAnswer, why: string): void {
    this.#gate.noteAnswer(host, answer, why);
  }

  pauseOf(host: string): GatePause | null {
    return this.#gate.pauseOf(host);
  }

  takeRetry(host: string): RetryAnswer {
    return this.#gate.takeRetry(host);
  }
}
