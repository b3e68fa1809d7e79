import { errorMessage } from '../domain/error-message.ts';
import type { WorkOrder } from '../domain/work-order.ts';
import { type RecordingScrapers, UnusableRecording } from '../scraping/recording-scrapers.ts';
import type { ScraperRegistry } from '../scraping/registry.ts';
import type { AttemptJob } from './attempt.ts';

export interface FindScraperDeps {
  readonly scrapers: Pick<ScraperRegistry, 'find'>;
  readonly recorded: Pick<RecordingScrapers, 'find'>;
}

/**
 * A file that cannot be loaded, or two scrapers with one id, are no reason to lose the lease. Throws if the recording of
 * the job cannot be had: that is not the fault of the items.
 */
export async function findScraper(
  { scrapers, recorded }: FindScraperDeps,
  { scraperId, recording }: WorkOrder,
): Promise<AttemptJob['scraper']> {
  try {
    if (recording !== undefined) return await recorded.find(recording);
    return (await scrapers.find(scraperId)) ?? { unusable: `this worker has no scraper ${scraperId}` };
  } catch (error) {
    if (recording !== undefined && !(error instanceof UnusableRecording)) throw error;
    return { unusable: errorMessage(error) };
  }
}
