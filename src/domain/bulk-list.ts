import { type Counts, finishedOf, inFlightOf } from './counts.ts';
import { batchOfPage, type SiteBatches } from './site-batches.ts';

/** The list of URLs that a bulk job was created with. Its items are the pages, site by site, in the order of `sites`. */
export interface BulkList {
  readonly totalUrls: number;
  /** Kept as links. */
  readonly assets: number;
  /** URLs that belong to no site. */
  readonly unknown: number;
  readonly sites: readonly SiteBatches[];
  /** Key under which assets and unknown URLs are listed; null if there are none. */
  readonly links: string | null;
}

/** Sites are part of the job's record, which is read as a whole. */
export const MAX_BULK_SITES = 5000;

export function pagesToScrape({ sites }: Pick<BulkList, 'sites'>): number {
  return sites.reduce((sum, { pages }) => sum + pages, 0);
}

export function batchCount({ sites }: Pick<BulkList, 'sites'>): number {
  return sites.reduce((sum, { batches }) => sum + batches, 0);
}

/**
 * How many batches have ended. Pages go out in order, so the number of pages that are final or in flight shows how many
 * batches were begun; those in flight have not ended. While a batch is being repeated because its worker was lost, the
 * count may be off by that batch; it is exact when nothing is in flight.
 */
export function endedBatches(
  { sites }: Pick<BulkList, 'sites'>,
  { counts, itemsInFlight }: { readonly counts: Counts; readonly itemsInFlight: number },
): number {
  const ended = begunBatches(sites, finishedOf(counts) + itemsInFlight) - inFlightOf(counts);
  return Math.max(0, ended);
}

/** The number of batches that the first `pages` pages belong to. */
function begunBatches(sites: readonly SiteBatches[], pages: number): number {
  let begun = 0;
  let left = pages;
  for (const site of sites) {
    if (left <= 0) break;
    begun += batchOfPage(site, Math.min(left, site.pages) - 1) + 1;
    left -= site.pages;
  }
  return begun;
}
