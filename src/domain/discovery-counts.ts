/**
 * What became of the items that the attempts of a job found. Every entry that a scraper returned is in exactly one of
 * the counts.
 */
export interface Discovery {
  /** Became items of the job. */
  readonly added: number;
  /** The job already had the item, or the same attempt found it twice. */
  readonly duplicates: number;
  /** The job has another input under that id and keeps it. */
  readonly conflicts: number;
  /** Further from the submitted items than `max_depth`. */
  readonly tooDeep: number;
  /** Beyond `max_items`, more than one attempt may find, or found for a job that accepts no more. */
  readonly overLimit: number;
  /** Not an item: without an input, or with one that the scraper does not accept. */
  readonly invalid: number;
}

export const NO_DISCOVERY: Discovery = {
  added: 0,
  duplicates: 0,
  conflicts: 0,
  tooDeep: 0,
  overLimit: 0,
  invalid: 0,
};

export const DISCOVERY_COUNTS = Object.keys(NO_DISCOVERY) as (keyof Discovery)[];
