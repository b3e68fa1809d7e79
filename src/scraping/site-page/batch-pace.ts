import type { BatchScope } from '../batch-scope.ts';
import type { ScrapeContext } from '../scraper.ts';

const PACE = Symbol('pace');

/** Spaces the requests of a batch. Pages that need none, because they are cached, do not wait. */
export class BatchPace {
  #endedAt: number | null = null;

  static of(batch: BatchScope): BatchPace {
    return batch.keep(PACE, () => new BatchPace());
  }

  /** Sends a request, no sooner than `delayMs` after the last one of the batch was answered. */
  async send<T>(
    { now, sleep }: Pick<ScrapeContext, 'now' | 'sleep'>,
    delayMs: number,
    request: () => Promise<T>,
  ): Promise<T> {
    // A clock that was set back must not prolong it.
    const passed = this.#endedAt === null ? delayMs : Math.max(0, now() - this.#endedAt);
    if (passed < delayMs) await sleep(delayMs - passed);
    try {
      return await request();
    } finally {
      this.#endedAt = now();
    }
  }
}
