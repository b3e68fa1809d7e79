import type { LineShare } from '../../../src/domain/line-book.ts';
import type { NamedAsk } from '../../../src/ports/host-shares.ts';

/**
 * What processes have shared with one another about a host:
 *
 *   pace     once one of them has reported a refusal, every answer has a pace, until good answers have raised it for long
 *   outage   once one of them has paused the host because it is away, every answer gives it a single place; the answer to a
 *            good answer that is newer than all failures does not
 *
 * After a call that may or may not have taken effect, both are open until the next report.
 */
export class HostHealthOracle {
  readonly #fail: (message: string) => void;
  /** Good answers that were reported since the last refusal; null if none must be known. */
  #goodSinceRefusal: number | null = null;
  #isAway: boolean | null = false;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(fail: (message: string) => void) {
    this.#fail = fail;
  }

  reserved(process: string, { news }: NamedAsk, { health }: LineShare, now: number): void {
    const goodAt = news === null || news.goodMs === null ? null : now - news.goodMs;
    const isGood = goodAt !== null && goodAt >= this.#failedAt + ROUNDED_MS;
    const isStale = goodAt !== null && !isGood;
    if (news !== null && news.failures > 0) this.#failedAt = Math.max(this.#failedAt, now - news.failedMs);
    if (isGood && news !== null && news.failures === 0 && news.pauses === 0) this.#isAway = false;
    // Too close to a failure to say which came first, or both at once.
    else if (isStale || isGood) this.#isAway = null;
    if (news !== null && news.pauses > 0) this.#isAway = true;
    if (this.#isAway !== null && this.#isAway !== (health?.limits.maxConcurrent === 1)) {
      this.#fail(
        `${process} hears that the host ${this.#isAway ? 'is not away, and it is' : 'is away, and it is not'}`,
      );
    }

    if (this.#goodSinceRefusal !== null) this.#goodSinceRefusal += news?.good ?? 0;
    if (news !== null && news.refusal !== null) this.#goodSinceRefusal = 0;
    const mustBePaced = this.#goodSinceRefusal !== null && this.#goodSinceRefusal <= GOOD_OF_A_RETURN;
    if (mustBePaced && health?.limits.requestsPerSecond == null) {
      this.#fail(`${process} hears of no pace, and ${this.#goodSinceRefusal} good answers came since a refusal`);
    }
  }

  /** Some of what was reported may be lost, or not. */
  unsure(): void {
    this.#goodSinceRefusal = null;
    this.#isAway = null;
  }
}

/** Times are stored in whole milliseconds. */
const ROUNDED_MS = 2;

/** With fewer, no pace is higher than the one that was refused. */
const GOOD_OF_A_RETURN = 20;
