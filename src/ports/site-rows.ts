/**
 * Small documents by site and name, on which the page cache, the error tracker, the turns of batches, the books of
 * recordings and the orders of scrape runs are built; `site` is whatever their rows are grouped by. A change is a pure function of what is there, and of
 * changes to one row at the same time none is lost. What is changed is seen by all at once. Whether a crash of the machine
 * may lose the last seconds of it depends on the kind (`ROW_KINDS`).
 */
export interface SiteRows<Document> {
  /** In the order of the names; null for rows that do not exist. */
  get(names: readonly RowName[]): Promise<readonly (Document | null)[]>;
  /**
   * Applies a function to each row independently; if it returns null, the row is removed. The functions may be called
   * more than once. Resolves to the documents afterwards, in order.
   */
  change(changes: readonly RowChange<Document>[]): Promise<readonly (Document | null)[]>;
  /**
   * Up to `limit` rows of a site, after the given place, and the place to continue from; null if there are no more. The
   * order is always the same. Every row that exists all the while is returned once.
   */
  page(site: string, after: string | null, limit: number): Promise<RowPage<Document>>;
  /**
   * Up to `limit` ids of sites after the given one, in order. A site is listed while it has rows, and sometimes a
   * little longer.
   */
  sites(after: string | null, limit: number): Promise<readonly string[]>;
  /** Removes the rows of a site, which may take some time; returns how many there were. */
  removeSite(site: string): Promise<number>;
}

export interface RowName {
  readonly site: string;
  /** Any text of up to 4,096 bytes. */
  readonly name: string;
}

export interface RowChange<Document> {
  readonly row: RowName;
  apply(known: Document | null): Document | null;
}

export interface RowPage<Document> {
  readonly rows: readonly Document[];
  readonly next: string | null;
}

/**
 * What is kept so, each in a place of its own. `lossy`: the last seconds may be lost with the machine, because all of it
 * can be read from the web again. `durable`: a change that has resolved is never lost.
 */
export const ROW_KINDS = {
  page: 'lossy',
  error: 'lossy',
  turn: 'lossy',
  recording: 'durable',
  'recording-claim': 'durable',
  'recorded-scraper': 'durable',
  run: 'durable',
} as const satisfies Record<string, 'lossy' | 'durable'>;
export type RowKind = keyof typeof ROW_KINDS;
