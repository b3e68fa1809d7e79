import { fitUsage, isFullUsage, NO_USAGE, type Usage, type UsageRow } from '../../../domain/usage.ts';
import type { Books } from './books.ts';

const MAX_KNOWN_JOBS = 1000;

/**
 * Which hosts have their own place in each job's row. It is read when a host is new to this process, and never again
 * once the row is full; two processes that each add one at the same moment make it one longer.
 */
export class UsagePlaces {
  readonly #books: Books;
  readonly #byIncarnation = new Map<string, Usage>();

  constructor(books: Books) {
    this.#books = books;
  }

  /** The same sums, under the names that the job's row has, or has room for. */
  async fit(jobId: string, inc: string, usage: Usage): Promise<Usage> {
    if (usage.length === 0) return usage;
    const known = this.#byIncarnation.get(inc) ?? NO_USAGE;
    if (isFullUsage(known) || usage.every((row) => known.some((place) => isSamePlace(place, row)))) {
      return fitUsage(known, usage);
    }
    const job = await this.#books.readJob(jobId);
    const places = job?.inc === inc ? job.record.usage : NO_USAGE;
    const fitted = fitUsage(places, usage);
    if (this.#byIncarnation.size >= MAX_KNOWN_JOBS) this.#byIncarnation.clear();
    this.#byIncarnation.set(inc, [
      ...places,
      ...fitted.filter((row) => !places.some((place) => isSamePlace(place, row))),
    ]);
    return fitted;
  }
}

function isSamePlace(one: UsageRow, other: UsageRow): boolean {
  return one.host === other.host && one.proxy === other.proxy;
}
