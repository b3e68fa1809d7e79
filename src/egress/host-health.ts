import { afterAway, afterGood, type HostOutage, isAway, NO_OUTAGE } from '../domain/host-outage.ts';
import { afterAccepted, afterRefusal, type HostRate, pacePerSecond } from '../domain/host-rate.ts';
import { FRESH_BUDGET, type RetryBudget, withFirstRequest, withRetry } from '../domain/retry-budget.ts';
import type { RetryAnswer } from '../ports/host-gate.ts';

/** What one process knows of a host from its answers: whether it is away, the pace it bears, and what retries it may get. */
export class HostHealth {
  #outage: HostOutage = NO_OUTAGE;
  #rate: HostRate | null = null;
  #budget: RetryBudget = FRESH_BUDGET;
  /** Of the current window, and of the one before. */
  #good = 0;
  #goodBefore = 0;
  #sent = 0;
  #sentBefore = 0;
  #windowAt: number;
  #latencyMs = 0;

  constructor(now: number) {
    this.#windowAt = now;
  }

  get isAway(): boolean {
    return isAway(this.#outage);
  }

  /** Whether something is known that a new host would not have. */
  get isUsual(): boolean {
    return this.#rate === null && !this.isAway;
  }

  /** The time between two requests that the host bears; 0 for none. */
  spacingMs(): number {
    const pace = this.#rate === null ? null : pacePerSecond(this.#rate);
    return pace === null ? 0 : 1000 / pace;
  }

  entered(now: number): void {
    this.#budget = withFirstRequest(this.#budget);
    this.#turn(now);
    this.#sent += 1;
  }

  left(latencyMs: number): void {
    this.#latencyMs += (latencyMs - this.#latencyMs) / LATENCY_OVER;
  }

  takeRetry(): RetryAnswer {
    const after = withRetry(this.#budget);
    if (after === null) return this.#outage.hasWorked ? 'later' : 'never';
    this.#budget = after;
    return 'go';
  }

  /** It answered, if only that it wants to be left alone; or another process has paused it, which it does only then. */
  isThere(): void {
    if (!this.isAway) this.#outage = { ...this.#outage, hasWorked: true };
  }

  good(now: number): void {
    this.#outage = afterGood(this.#outage);
    if (this.#rate !== null) this.#rate = afterAccepted(this.#rate);
    this.#turn(now);
    this.#good += 1;
  }

  refused(now: number): void {
    this.isThere();
    this.#turn(now);
    this.#rate = afterRefusal(this.#rate, {
      now,
      acceptedPerSecond: this.#acceptedPerSecond(now),
      latencyMs: this.#latencyMs,
    });
  }

  /** Answers how long the host is to be left alone; null if it is not away. */
  away(now: number, chance: number): number | null {
    const { outage, pauseMs } = afterAway(this.#outage, { now, chance });
    this.#outage = outage;
    return pauseMs;
  }

  #turn(now: number): void {
    const passed = now - this.#windowAt;
    if (passed < WINDOW_MS) return;
    const isNext = passed < 2 * WINDOW_MS;
    this.#goodBefore = isNext ? this.#good : 0;
    this.#sentBefore = isNext ? this.#sent : 0;
    this.#good = 0;
    this.#sent = 0;
    this.#windowAt = now;
  }

  /**
   * Over the last window and what has passed of this one. Refusals come faster than pages, so before the first pages half of
   * what was sent is taken for it.
   */
  #acceptedPerSecond(now: number): number {
    const isFirst = this.#sentBefore === 0;
    const ms = isFirst ? Math.max(LEAST_WINDOW_MS, now - this.#windowAt) : WINDOW_MS + (now - this.#windowAt);
    const good = this.#good + this.#goodBefore;
    return ((good > 0 ? good : (this.#sent + this.#sentBefore) / 2) * 1000) / ms;
  }
}

const WINDOW_MS = 4000;
/** Fewer good answers in a shorter time say nothing about a rate per second. */
const LEAST_WINDOW_MS = 1000;
const LATENCY_OVER = 8;
