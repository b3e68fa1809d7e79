import type { StoredArtifact } from './artifact.ts';
import { canonicalJson } from './canonical-json.ts';
import type { FailedTry } from './failed-try.ts';
import type { Failure } from './failure.ts';
import type { SkipReason } from './skip-reason.ts';
import type { AttemptUsage } from './usage.ts';

/**
 * The life of an item. It is `pending` until its batch is dispatched, `queued` while it is the first of a batch that
 * waits for a worker, and `in_progress` while it is the first of a batch that a worker has; the others of a batch are
 * `pending` until it is their turn. Success, skipped, failed and cancelled are final; only an explicit retry or a
 * corrected input (`correct`) reopens a failed item, and only a re-extraction that could read its stored page makes it
 * a success (`recover`). An item that a worker is processing is not cancelled: it ends by itself, or is cancelled when
 * it comes back (`withdraw`). Only a crash of the machine undoes an end: when the item's bytes did not reach the disk.
 */
export type ItemStatus = 'pending' | 'queued' | 'in_progress' | 'success' | 'failed' | 'skipped' | 'cancelled';

/** The events of an item, and when they happen. */
export const ITEM_EVENTS = {
  dispatch: 'it goes out as the first of a batch',
  claim: 'a worker gets its batch',
  advance: 'the items before it in its batch have ended, or are cancelled',
  lose: 'its batch comes back before a worker had it: recalled, or its message was lost',
  succeed: 'the worker has a result',
  skip: 'the worker had nothing to fetch, or the site disallows it',
  giveUp: 'the worker could not scrape it',
  poison: 'the lease of its worker runs out for the third time with this item begun',
  release: 'the worker gives its batch back',
  expire: 'the lease of its worker runs out',
  withdraw: 'it comes back, or its end is undone, after its job was cancelled',
  cancel: 'its job is cancelled',
  retry: 'a user retries it',
  correct: 'a corrected input is submitted for it',
  recover: 'a re-extraction could read its stored page',
  undo: 'the machine crashed before its bytes were on the disk',
} as const;

export type ItemEvent = keyof typeof ITEM_EVENTS;

/** The transitions between statuses of an item; ledgers use it, and `docs/states.md` is generated from it. */
export const NEXT_ITEM_STATUS = {
  pending: { dispatch: 'queued', advance: 'in_progress', cancel: 'cancelled' },
  queued: { claim: 'in_progress', lose: 'pending', cancel: 'cancelled' },
  in_progress: {
    succeed: 'success',
    skip: 'skipped',
    giveUp: 'failed',
    poison: 'failed',
    release: 'pending',
    expire: 'pending',
    withdraw: 'cancelled',
  },
  success: { undo: 'pending', withdraw: 'cancelled' },
  skipped: { undo: 'pending', withdraw: 'cancelled' },
  failed: { retry: 'pending', correct: 'pending', recover: 'success', undo: 'pending', withdraw: 'cancelled' },
  cancelled: {},
} as const satisfies Record<ItemStatus, Partial<Record<ItemEvent, ItemStatus>>>;

/** Null if the event does not change an item with that status. */
export function nextStatus(status: ItemStatus, event: ItemEvent): ItemStatus | null {
  const row: Partial<Record<ItemEvent, ItemStatus>> = NEXT_ITEM_STATUS[status];
  return row[event] ?? null;
}

export const ITEM_STATUSES = Object.keys(NEXT_ITEM_STATUS) as ItemStatus[];

export type FinalStatus = 'success' | 'failed' | 'skipped' | 'cancelled';

export function isFinal(status: ItemStatus): status is FinalStatus {
  return status === 'success' || status === 'failed' || status === 'skipped' || status === 'cancelled';
}

/** One input of a job, as submitted. */
export interface NewItem {
  readonly itemId: string;
  readonly input: ItemInput;
  /** Set only in a re-extraction. */
  readonly source?: SourcePage;
  /** What it belongs to, such as a site. A job may form its batches by group (`Batching`). */
  readonly group?: string;
  /**
   * Set only for an item that another one found: 1 if that one was submitted, and one more for each item in between.
   */
  readonly depth?: number;
}

/** An item of a list whose id was given before. */
export interface RepeatedItem {
  readonly index: number;
  /** Place of the item that already has this id. */
  readonly first: number;
  /** Whether the inputs differ: then it is not one item sent twice, but two items under one id. */
  readonly differs: boolean;
}

/** Items whose id occurs earlier in the list. */
export function repeatedItems(items: readonly NewItem[]): RepeatedItem[] {
  const seen = new Map<string, number>();
  const repeated: RepeatedItem[] = [];
  for (const [index, { itemId, input }] of items.entries()) {
    const first = seen.get(itemId);
    if (first === undefined) seen.set(itemId, index);
    else repeated.push({ index, first, differs: !isSameInput(items[first]?.input ?? {}, input) });
  }
  return repeated;
}

/** Whether two inputs are equal, regardless of the order of their fields. */
export function isSameInput(one: ItemInput, other: ItemInput): boolean {
  return one === other || canonicalJson(one) === canonicalJson(other);
}

/** What a re-extraction reads instead of the web: pages that another job kept for the same item. */
export interface SourcePage {
  /** If the item only has named pages, the first of them. */
  readonly html: StoredArtifact;
  /** All named pages; absent if there are none. */
  readonly pages?: readonly StoredArtifact[];
  /** Says where the page came from; null if that was not kept. */
  readonly metadata: StoredArtifact | null;
}

export type ItemInput = Readonly<Record<string, unknown>>;

/** How one delivery of an item ended. */
export interface AttemptRecord {
  /** Which delivery of the item it was: 1, 2, 3 … over its whole life. Names the keys of its artifacts. */
  readonly attempt: number;
  readonly tries: number;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly end: 'success' | 'skipped' | 'failed';
  /** The failure of the try that says most about the item (`mostTelling`). */
  readonly failure: Failure | null;
  /** Present if the item was skipped; older versions did not record it. */
  readonly skipReason?: SkipReason;
  /** The last tries that failed, oldest first; absent if there was only one try. */
  readonly failedTries?: readonly FailedTry[];
  /** Version of the scraper, if it differs from the one the job was created with. */
  readonly scraperVersion?: string;
  /** Set if a scraper other than the job's parsed the page again and its data replace those of this attempt. */
  readonly scraperId?: string;
  /** What all its tries sent and received; absent for nothing, and in attempts of older versions. */
  readonly usage?: AttemptUsage;
}

/** A failed item whose stored page a re-extraction could read. */
export interface RecoveredItem {
  readonly seq: number;
  /** The failed attempt whose page was read. An item that has been tried again since is left unchanged. */
  readonly attempt: number;
  /** The item's new artifacts. */
  readonly artifacts: readonly StoredArtifact[];
  /** How the re-extraction read it. */
  readonly reading: Omit<AttemptRecord, 'attempt' | 'end' | 'failure'>;
}

/** The recovery as an entry of the item's history: an attempt with the next number. */
export function recoveryOf({ attempt, reading }: RecoveredItem): AttemptRecord {
  return { ...reading, attempt: attempt + 1, end: 'success', failure: null };
}

export const MAX_ITEM_ID_LENGTH = 1000;

export const MAX_GROUP_LENGTH = 200;

export const MAX_VERSION_LENGTH = 100;

/** The field, or nothing: a version shared with the job is not stored again for every item. */
export function otherVersion(
  { scraperVersion }: { readonly scraperVersion?: string },
  job: { readonly scraperVersion: string },
): Pick<AttemptRecord, 'scraperVersion'> {
  return scraperVersion === undefined || scraperVersion === job.scraperVersion ? {} : { scraperVersion };
}

/**
 * The number of finished attempts. A delivery that was returned uncharged does not count, although artifact keys count
 * it. If the history is longer than what is stored, the deliveries show how many are no longer listed.
 */
export function countAttempts({ attempts }: Pick<ItemRecord, 'attempts'>): number {
  return attempts.length + unlistedAttempts({ attempts });
}

/** Attempts before the first one listed. */
export function unlistedAttempts({ attempts }: Pick<ItemRecord, 'attempts'>): number {
  return attempts.length < MAX_HISTORY ? 0 : (attempts[0]?.attempt ?? 1) - 1;
}

/** What the ledger knows about an item. */
export interface ItemRecord {
  readonly jobId: string;
  readonly seq: number;
  readonly itemId: string;
  readonly input: ItemInput;
  readonly status: ItemStatus;
  /** How often a worker died or went silent while processing this item, since it was last reopened. */
  readonly strikes: number;
  /** Deliveries so far, whether or not they ended: each determines the keys of its artifacts. */
  readonly deliveries: number;
  /** Finished attempts, oldest first; the status is that of the last one. At most MAX_HISTORY. */
  readonly attempts: readonly AttemptRecord[];
  /** What the last attempt kept, even if it failed; empty while the item is not final. */
  readonly artifacts: readonly StoredArtifact[];
  /** Set only in a re-extraction. */
  readonly source?: SourcePage;
  /** Set only if it was given one. */
  readonly group?: string;
  /** Set only for an item that another one found. */
  readonly depth?: number;
}

/** Limit per item, so that a job retried every night for a year does not grow forever. */
export const MAX_HISTORY = 10;

/** Why the item was skipped; null if it was not, or if that was not recorded. */
export function skipReasonOf({ status, attempts }: Pick<ItemRecord, 'status' | 'attempts'>): SkipReason | null {
  return status === 'skipped' ? (attempts.at(-1)?.skipReason ?? null) : null;
}
