import type { LineNews, RefusalNews } from '../domain/line-health.ts';

/**
 * What this process has seen of a host since its last report; the other processes learn of it with the next
 * reservation.
 */
export class HostNews {
  #good = 0;
  #goodAt = Number.NEGATIVE_INFINITY;
  #refusal: Refusal | null = null;
  #failures = 0;
  #failingAt = 0;
  #failedAt = 0;
  #pauses = 0;
  #pausedUntil = 0;
  /** A host that was away has answered. */
  #isBack = false;
  /** The last refusal and pause that were sent, in case they did not arrive. */
  #sent: { readonly refusal: Refusal | null; readonly pauses: number; readonly pausedUntil: number } = NOTHING;

  /** Whether the others should learn of it soon, even if nothing else must be reserved. */
  get isUrgent(): boolean {
    return this.#refusal !== null || this.#failures > 0 || this.#pauses > 0 || this.#pausedUntil > 0 || this.#isBack;
  }

  get failures(): number {
    return this.#failures;
  }

  get pauses(): number {
    return this.#pauses;
  }

  /** Whether a good answer came since. */
  get hasGood(): boolean {
    return this.#good > 0;
  }

  noteGood(now: number, wasAway: boolean): void {
    this.#good += 1;
    this.#goodAt = now;
    this.#failures = 0;
    this.#pauses = 0;
    if (wasAway) this.#isBack = true;
  }

  noteRefusal(at: number, acceptedPerSecond: number, latencyMs: number): void {
    this.#refusal = { at, acceptedPerSecond, latencyMs };
  }

  noteFailure(now: number): void {
    if (this.#failures === 0) this.#failingAt = now;
    this.#failures += 1;
    this.#failedAt = now;
  }

  notePause(until: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, until);
  }

  noteOutage(pauses: number): void {
    this.#pauses = pauses;
  }

  /** Everything; null if there is nothing. */
  take(now: number): LineNews | null {
    const isEmpty = this.#good === 0 && !this.isUrgent;
    const refusal = this.#refusal;
    this.#sent = { refusal, pauses: this.#pauses, pausedUntil: this.#pausedUntil };
    const news = isEmpty
      ? null
      : {
          good: this.#good,
          goodMs: this.#good > 0 ? now - this.#goodAt : null,
          refusal: refusal && refusalNews(refusal, now),
          failures: this.#failures,
          failingMs: this.#failures > 0 ? now - this.#failingAt : 0,
          failedMs: this.#failures > 0 ? now - this.#failedAt : 0,
          pauses: this.#pauses,
          pausedMs: Math.max(0, this.#pausedUntil - now),
        };
    this.#good = 0;
    this.#refusal = null;
    this.#failures = 0;
    this.#pauses = 0;
    this.#pausedUntil = 0;
    this.#isBack = false;
    return news;
  }

  /**
   * What was taken may not have arrived. A repeated refusal is recognised by its time, and a pause by its number. Good
   * answers and failures would count twice, and are dropped.
   */
  restore(): void {
    const { refusal, pauses, pausedUntil } = this.#sent;
    this.#sent = NOTHING;
    this.#refusal ??= refusal;
    if (!this.hasGood) this.#pauses = Math.max(this.#pauses, pauses);
    this.notePause(pausedUntil);
  }
}

interface Refusal {
  readonly at: number;
  readonly acceptedPerSecond: number;
  readonly latencyMs: number;
}

const NOTHING = { refusal: null, pauses: 0, pausedUntil: 0 };

function refusalNews({ at, acceptedPerSecond, latencyMs }: Refusal, now: number): RefusalNews {
  return { agoMs: now - at, acceptedPerSecond, latencyMs };
}
