import { failure } from '../../domain/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import { ScrapeFailure } from '../scrape-failure.ts';

/** Our own deadlines, for calls to a browser that have none: one that hangs would never answer them. */
export class Deadline {
  readonly #clock: Pick<Clock, 'sleep'>;

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock;
  }

  /** The result of `work`; rejects with a `timeout` that names `what` when the time is over. The work is abandoned. */
  async within<T>(ms: number, work: Promise<T>, what: string): Promise<T> {
    const over = new AbortController();
    const late = this.#clock.sleep(ms, over.signal).then((): never => {
      throw new ScrapeFailure(failure('timeout', `${what} took longer than ${ms / 1000} s`));
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      late.catch(() => {});
      work.catch(() => {});
      over.abort(OVER);
    }
  }
}

const OVER = 'it ended in time';
