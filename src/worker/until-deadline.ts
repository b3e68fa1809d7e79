import { failure } from '../domain/failure.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import { checkedResult } from '../scraping/checked-result.ts';
import type { ScrapeResult } from '../scraping/scraper.ts';
import { thrownFailure } from '../scraping/thrown-failure.ts';
import type { Deadlines } from './deadlines.ts';
import type { ItemTime } from './item-time.ts';

/** The slot is free when the time is over by our clock, whether or not the scraper has noticed. */
export async function untilDeadline(
  deadlines: Deadlines,
  work: () => unknown,
  time: ItemTime,
  signal: AbortSignal,
): Promise<ScrapeResult | 'aborted'> {
  if (signal.aborted) return 'aborted';
  const { promise, resolve, reject } = Promise.withResolvers<ScrapeResult | 'aborted'>();
  const watch = deadlines.watch(time, signal, (why) => {
    resolve(why === 'aborted' ? 'aborted' : tooLate(time.allMs));
  });
  workSafely(work).then(resolve, reject);
  try {
    return await promise;
  } finally {
    watch.end();
  }
}

function tooLate(allMs: number): ScrapeResult {
  return { kind: 'failed', failure: failure('timeout', `item took longer than ${allMs / 1000} s`) };
}

async function workSafely(work: () => unknown): Promise<ScrapeResult> {
  try {
    return checkedResult(await work());
  } catch (error) {
    if (error instanceof StorageTrouble) throw error;
    return { kind: 'failed', failure: thrownFailure(error) };
  }
}
