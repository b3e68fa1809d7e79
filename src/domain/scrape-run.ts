/**
 * Scrape runs that this service keeps itself: a domain, and its URLs, each of them done, failed, invalid or pending. The
 * names of statuses and fields are those of ETL servers, which clients already know.
 */

/**
 * pending: no item has been reported yet. processing: at least one has. The others end a run: its client says which, and
 * `finished` if it does not say.
 */
export const RUN_STATUSES = ['pending', 'processing', 'completed', 'failed', 'finished'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const RUN_ENDS = ['finished', 'completed', 'failed'] as const satisfies readonly RunStatus[];
export type RunEnd = (typeof RUN_ENDS)[number];

export const RUN_ITEM_STATES = ['pending', 'completed', 'failed', 'invalid'] as const;
export type RunItemState = (typeof RUN_ITEM_STATES)[number];

/** What is known of one URL. A failed item that was scraped later may have `done` and `failed`. */
export interface RunItem {
  readonly url: string;
  readonly done: boolean;
  readonly failed: boolean;
  readonly invalid: boolean;
  readonly failedReason: string | null;
}

/** Only the fields that are given change. */
export interface RunItemChanges {
  readonly done?: boolean | undefined;
  readonly failed?: boolean | undefined;
  readonly invalid?: boolean | undefined;
  readonly failedReason?: string | null | undefined;
}

export interface RunItemUpdate {
  readonly url: string;
  readonly changes: RunItemChanges;
}

/** As clients report it. */
export interface RunMetadata {
  readonly started_at?: string | undefined;
  readonly finished_at?: string | null | undefined;
  readonly finished_count?: number | undefined;
  readonly total_count?: number | undefined;
  readonly failed_count?: number | undefined;
}

export type RunCounts = { readonly [State in Exclude<RunItemState, 'pending'>]: number } & { readonly total: number };

export interface NewRun {
  readonly domain: string;
  readonly source: string | null;
  readonly startedAt: number;
  readonly metadata: RunMetadata;
}

export interface RunRecord extends NewRun {
  readonly id: string;
  readonly status: RunStatus;
  /** Null until the run has ended. */
  readonly endedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly counts: RunCounts;
}

/** The longest URL, in bytes of UTF-8, and the longest reason, in characters; longer reasons are cut. */
export const MAX_RUN_URL_BYTES = 4096;
export const MAX_REASON_LENGTH = 1000;

export const NO_RUN_COUNTS: RunCounts = { total: 0, completed: 0, failed: 0, invalid: 0 };

export function pendingOf({ total, completed, failed, invalid }: RunCounts): number {
  return total - completed - failed - invalid;
}

/** What an item counts as. An item that was scraped in the end is complete, whatever happened before. */
export function runItemState({ done, failed, invalid }: Omit<RunItem, 'url'>): RunItemState {
  if (done) return 'completed';
  if (invalid) return 'invalid';
  return failed ? 'failed' : 'pending';
}

export function newRunItem(url: string): RunItem {
  return { url, done: false, failed: false, invalid: false, failedReason: null };
}

/** The same item if nothing changes. */
export function afterItemChanges(item: RunItem, changes: RunItemChanges): RunItem {
  const next: RunItem = {
    url: item.url,
    done: changes.done ?? item.done,
    failed: changes.failed ?? item.failed,
    invalid: changes.invalid ?? item.invalid,
    failedReason: changes.failedReason === undefined ? item.failedReason : shortReason(changes.failedReason),
  };
  return isSameItem(item, next) ? item : next;
}

function shortReason(reason: string | null): string | null {
  // A cut may separate the halves of a surrogate pair.
  return reason === null ? null : reason.slice(0, MAX_REASON_LENGTH).toWellFormed();
}

function isSameItem(one: RunItem, other: RunItem): boolean {
  return (
    one.done === other.done &&
    one.failed === other.failed &&
    one.invalid === other.invalid &&
    one.failedReason === other.failedReason
  );
}

/** Adds items of a state to the counts, or with a negative number takes them away. */
function addToCounts(counts: RunCounts, state: RunItemState, items: number): RunCounts {
  return state === 'pending' ? counts : { ...counts, [state]: counts[state] + items };
}

/** What a change of an item does to the counts of its run. */
export function countItemChange(counts: RunCounts, from: RunItem, to: RunItem): RunCounts {
  const [before, after] = [runItemState(from), runItemState(to)];
  return before === after ? counts : addToCounts(addToCounts(counts, before, -1), after, 1);
}

export type RunChange =
  | { readonly kind: 'end'; readonly status: RunEnd; readonly endedAt: number; readonly metadata: RunMetadata }
  | { readonly kind: 'reopen' };

/**
 * A run ends once: ending it again keeps its status and its end, and only adds to its metadata, so that a request whose
 * answer was lost can be repeated. The same run if nothing changes.
 */
export function afterRunChange(run: RunRecord, change: RunChange, now: number): RunRecord {
  if (change.kind === 'reopen') {
    return run.endedAt === null ? run : { ...run, status: 'processing', endedAt: null, updatedAt: now };
  }
  const metadata = { ...run.metadata, ...given(change.metadata) };
  if (run.endedAt !== null && JSON.stringify(metadata) === JSON.stringify(run.metadata)) return run;
  const end = run.endedAt === null ? { status: change.status, endedAt: change.endedAt } : {};
  return { ...run, ...end, metadata, updatedAt: now };
}

function given(metadata: RunMetadata): RunMetadata {
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined));
}

export const RUN_SORTS = ['startTime', 'createdAt', 'domain', 'endTime'] as const;
type RunSort = (typeof RUN_SORTS)[number];

export interface RunQuery {
  readonly domain?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly sortBy: RunSort;
  readonly sortOrder: 'asc' | 'desc';
  readonly offset: number;
  readonly limit: number;
}

/** What a list needs to know of a run in order to find its place. */
export type ListedRun = Pick<RunRecord, 'id' | 'domain' | 'status' | 'startedAt' | 'endedAt' | 'createdAt'>;

/** The part of the list that is asked for, and how many runs match. Runs that have not ended count as the last to end. */
export function pageOfRuns<Run extends ListedRun>(
  runs: readonly Run[],
  { domain, status, sortBy, sortOrder, offset, limit }: RunQuery,
): { readonly runs: readonly Run[]; readonly total: number } {
  const found = runs.filter(
    (run) => (domain === undefined || run.domain === domain) && (status === undefined || run.status === status),
  );
  const direction = sortOrder === 'asc' ? 1 : -1;
  found.sort((one, other) => direction * (COMPARE[sortBy](one, other) || compare(one.id, other.id)));
  return { runs: found.slice(offset, offset + limit), total: found.length };
}

const COMPARE: Readonly<Record<RunSort, (one: ListedRun, other: ListedRun) => number>> = {
  startTime: (one, other) => compare(one.startedAt, other.startedAt),
  createdAt: (one, other) => compare(one.createdAt, other.createdAt),
  domain: (one, other) => compare(one.domain, other.domain),
  endTime: (one, other) => compare(endOf(one), endOf(other)),
};

function endOf({ endedAt }: ListedRun): number {
  return endedAt ?? Number.POSITIVE_INFINITY;
}

function compare<T extends string | number>(one: T, other: T): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
