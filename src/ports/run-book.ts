import type {
  NewRun,
  RunChange,
  RunItem,
  RunItemState,
  RunItemUpdate,
  RunQuery,
  RunRecord,
} from '../domain/scrape-run.ts';

/**
 * Scrape runs, for a team that has no ETL server of its own. A run is kept until it is removed. Its items are in the
 * order in which they were added, and a URL is in a run at most once: URLs are compared as they were given.
 * Several processes may change one run at the same time, and none undoes what another did. The counts of a run always
 * agree with its items. Every change has reached the disk when its promise resolves; one that rejects may have been made,
 * and can be repeated without harm.
 */
export interface RunBook {
  /** Begins a run that is visible to no one until it is committed. */
  draft(): Promise<RunDraft>;
  /** Null if there is none. */
  run(id: string): Promise<RunRecord | null>;
  /** Costs time in proportion to the number of runs of the domain, or of all runs if no domain is given. */
  list(query: RunQuery): Promise<RunList>;
  /**
   * Up to `limit` items in order, after the given place. Items that are added, or that change their state, while a list is
   * read page by page may or may not be seen; all others are returned once. No items for a run that does not exist, or
   * after a place that was never given out.
   */
  items(id: string, query: RunItemQuery): Promise<RunItemPage>;
  /** Adds items at the end. URLs that the run already has are left as they are. */
  add(id: string, urls: readonly string[], now: number): Promise<AddRunItemsAnswer>;
  /**
   * Applies the changes in order, also if the run has ended. The first one that changes anything makes a pending run a
   * processing one. Each change is made completely or not at all; the whole list is not one change.
   */
  update(id: string, updates: readonly RunItemUpdate[], now: number): Promise<UpdateRunItemsAnswer>;
  /** Applies `afterRunChange`. Null if there is no such run. */
  change(id: string, change: RunChange, now: number): Promise<RunRecord | null>;
  /** The run is gone at once; its items take some time. False if there was none. */
  remove(id: string): Promise<boolean>;
  /** Removes what is left of removed runs, and of drafts whose process died. */
  sweep(): Promise<void>;
}

export interface RunDraft {
  /** URLs that were added before are ignored. One call at a time. */
  add(urls: readonly string[]): Promise<void>;
  /** Ends the draft, and makes the run visible with all its items. */
  commit(run: NewRun, now: number): Promise<RunRecord>;
  /** Removes it; does nothing once it is committed. */
  drop(): Promise<void>;
}

export interface RunList {
  readonly runs: readonly RunRecord[];
  /** How many there are on all pages. */
  readonly total: number;
}

export interface RunItemQuery {
  readonly state: RunItemState | null;
  /** `next` of the previous page; null for the first. */
  readonly after: string | null;
  readonly limit: number;
}

export interface RunItemPage {
  readonly items: readonly RunItem[];
  /** Null if there are no more. */
  readonly next: string | null;
}

export type AddRunItemsAnswer =
  | { readonly kind: 'added'; readonly added: number; readonly known: number }
  /** Nothing was added: the run has ended. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'missing' };

export type UpdateRunItemsAnswer =
  /** `changed`: the items that are different now, as they are after the last change; `unknown`: URLs that are not in the run. */
  | { readonly kind: 'updated'; readonly changed: readonly RunItem[]; readonly unknown: readonly string[] }
  | { readonly kind: 'missing' };
