import { errorMessage } from '../domain/error-message.ts';
import type { ScraperRegistry } from '../scraping/registry.ts';
import type { AttemptJob } from './attempt.ts';

/** A file that cannot be loaded, or two scrapers with one id, are no reason to lose the lease. */
export async function findScraper(scrapers: Pick<ScraperRegistry, 'find'>, id: string): Promise<AttemptJob['scraper']> {
  try {
    return (await scrapers.find(id)) ?? { unusable: `this worker has no scraper ${id}` };
  } catch (error) {
    return { unusable: errorMessage(error) };
  }
}
