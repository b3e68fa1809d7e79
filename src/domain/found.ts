import type { NewItem } from './item.ts';

/** What an attempt found: new items for the job of its item. */
export interface Found {
  /** In the order in which the scraper returned them, each with its depth; at most MAX_FOUND, of MAX_FOUND_BYTES together. */
  readonly items: readonly NewItem[];
  /** Number of further entries that cannot be items of the job; absent if none. */
  readonly invalid?: number;
  /** Number of entries beyond the limit of one attempt; absent if none. */
  readonly beyond?: number;
}

/**
 * A settle is one step, and on DynamoDB a step has a hundred rows and four megabytes: a hundred items take one row, or two if
 * they have groups, and the item that found them needs room as well.
 */
export const MAX_FOUND = 4000;
export const MAX_FOUND_BYTES = 2_000_000;
