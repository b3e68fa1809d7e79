import { MAX_BATCH_ITEMS } from './batching.ts';
import { type Counts, finishedOf, inFlightOf } from './counts.ts';
import { pieceOrder, type SiteBatches, windowsOf } from './site-batches.ts';

/** The list of URLs that a bulk job was created with. Its items are the pages, in the order of `pieceOrder`. */
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
 * How many batches are over. Pieces of batches go out in their order, so what is final or out tells how many were begun, and
 * those in flight are the last of them. While one is being carried out again, because its worker was lost, this may be off
 * by that batch; it is exact when nothing is in flight.
 */
export function endedBatches(
  list: Pick<BulkList, 'sites'>,
  { counts, itemsInFlight }: { readonly counts: Counts; readonly itemsInFlight: number },
): number {
  const begun = finishedOf(counts) + itemsInFlight;
  if (begun >= pagesToScrape(list) && inFlightOf(counts) === 0) return batchCount(list);
  let left = begun;
  // Whether each piece that was begun ends its batch.
  const pieces: boolean[] = [];
  for (const window of windowsOf(list.sites)) {
    for (const { pages, isLast } of pieceOrder(window, MAX_BATCH_ITEMS)) {
      if (left <= 0) break;
      pieces.push(isLast);
      left -= pages;
    }
    if (left <= 0) break;
  }
  return pieces.slice(0, Math.max(0, pieces.length - inFlightOf(counts))).filter(Boolean).length;
}
