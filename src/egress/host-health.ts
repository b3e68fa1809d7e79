import { afterAway, afterGood, type HostOutage, isAway, NO_OUTAGE } from '../domain/host-outage.ts';
import { afterAccepted, afterRefusal, type HostRate, pacePerSecond } from '../domain/host-rate.ts';
import type { HeardHealth } from '../domain/line-health.ts';
import { FRESH_BUDGET, type RetryBudget, withFirstRequest, withRetry } from '../domain/retry-budget.ts';
import type { RetryAnswer } from '../ports/host-gate.ts';
import { HostNews } from './host-news.ts';

/**
 * What one process knows about a host from its answers: whether it is away, the pace it can take, and how many retries
 * it may get. If processes share the limits of the host, they also share what they learn: `news` goes out with the next
 * reservation, and its answer says what all of them know. The pace is then enforced by the reserved slots, and by a
 * pace of its own only until the first answer.
 */
export class HostHealth {
  readonly news = new HostNews();
  #isPacedTogether = false;
  #outage: HostOutage = NO_OUTAGE;
  #rate: HostRate | null = null;
  #budget: RetryBudget = FRESH_BUDGET;
  /** Good answers in the current window, and in the one before. */
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

  /** Whether nothing is known that would not apply to a new host. */
  get isUsual(): boolean {
    return this.#rate === null && !this.isAway;
  }

  /** The time between two requests that the host can take; 0 for no limit. */
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
    this.news.noteGood(now, this.isAway);
    this.#outage = afterGood(this.#outage);
    if (this.#rate !== null) this.#rate = afterAccepted(this.#rate);
    this.#turn(now);
    this.#good += 1;
  }

  refused(now: number): void {
    this.isThere();
    this.#turn(now);
    const acceptedPerSecond = this.#acceptedPerSecond(now);
    const latencyMs = this.#latencyMs;
    this.news.noteRefusal(now, acceptedPerSecond, latencyMs);
    if (this.#isPacedTogether) return;
    this.#rate = afterRefusal(this.#rate, { now, acceptedPerSecond, latencyMs, settleMs: 0 });
  }

  /** Returns how long the host should be left alone; null if it is not away. */
  away(now: number, chance: number): number | null {
    const { outage, pauseMs } = afterAway(this.#outage, { now, chance });
    this.#outage = outage;
    this.news.noteFailure(now);
    if (pauseMs !== null) this.news.noteOutage(outage.pauses);
    return pauseMs;
  }

  /** What all processes know about the host, as of `askedAt`; null if it is well. */
  learn(heard: HeardHealth | null, askedAt: number): void {
    this.#isPacedTogether = heard !== null && heard.limits.requestsPerSecond !== null;
    if (this.#isPacedTogether) this.#rate = null;
    // A good answer received since then is newer.
    if (this.news.hasGood) return;
    const { failures, pauses } = this.news;
    const common = heard ?? { failures: 0, failingMs: 0, pauses: 0 };
    this.#outage = {
      hasWorked: this.#outage.hasWorked || common.pauses > 0,
      failures: common.failures + failures,
      failingSince: common.failures > 0 ? askedAt - common.failingMs : this.#outage.failingSince,
      pauses: Math.max(common.pauses, pauses),
    };
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
   * Over the last window and the elapsed part of this one. Refusals arrive faster than pages, so before the first pages
   * half of what was sent is used. That is at least one request: it may have been sent long before.
   */
  #acceptedPerSecond(now: number): number {
    const isFirst = this.#sentBefore === 0;
    const ms = isFirst ? Math.max(LEAST_WINDOW_MS, now - this.#windowAt) : WINDOW_MS + (now - this.#windowAt);
    const good = this.#good + this.#goodBefore;
    return ((good > 0 ? good : Math.max(1, this.#sent + this.#sentBefore) / 2) * 1000) / ms;
  }
}

const WINDOW_MS = 4000;
/** Fewer good answers in a shorter time say nothing about a rate per second. */
const LEAST_WINDOW_MS = 1000;
const LATENCY_OVER = 8;
