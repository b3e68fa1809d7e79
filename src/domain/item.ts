import type { StoredArtifact } from './artifact.ts';
import { canonicalJson } from './canonical-json.ts';
import type { FailedTry } from './failed-try.ts';
import type { Failure } from './failure.ts';
import type { SkipReason } from './skip-reason.ts';
import type { AttemptUsage } from './usage.ts';

/**
 * The life of an item. It is `pending` until its batch is dispatched, `queued` while it is the first of a batch that
 * waits for a worker, `in_progress` while it is the first of a batch that a worker has; the others of a batch are
 * `pending` until it is their turn. Success, skipped, failed and cancelled are final; only an explicit retry or a
 * corrected input (`correct`) reopens a failed item, and only a re-extraction that could read its stored page makes it a
 * success (`recover`). An item that a worker is at is not cancelled under it: it ends by itself, or is cancelled when it
 * comes back (`withdraw`). Only a crash of the machine undoes an end: when the bytes that the item kept are not on the
 * disk.
 */
export type ItemStatus = 'pending' | 'queued' | 'in_progress' | 'success' | 'failed' | 'skipped' | 'cancelled';

/** What can happen to an item, and when it does. */
export const ITEM_EVENTS = {
  dispatch: 'it goes out as the first of a batch',
  claim: 'a worker gets its batch',
  advance: 'the items before it in its batch have ended, or are cancelled',
  lose: 'its batch comes back before a worker had it: recalled, or its message was lost',
  succeed: 'the worker has a result',
  skip: 'the worker had nothing to fetch, or the site does not allow it',
  giveUp: 'the worker could not do it',
  poison: 'the lease of its worker runs out for the third time with this item begun',
  release: 'the worker gives its batch back',
  expire: 'the lease of its worker runs out',
  withdraw: 'it comes back, or its end is undone, after its job was cancelled',
  cancel: 'its job is cancelled',
  retry: 'a user wants it tried again',
  correct: 'its job is given another input for it',
  recover: 'a re-extraction could read its stored page',
  undo: 'the machine went down before the bytes that it kept were on the disk',
} as const;

export type ItemEvent = keyof typeof ITEM_EVENTS;

/** What leads from one status of an item to another; ledgers ask it, and `docs/states.md` is made from it. */
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

/** Null where the event does not change an item of that status. */
export function nextStatus(status: ItemStatus, event: ItemEvent): ItemStatus | null {
  const row: Partial<Record<ItemEvent, ItemStatus>> = NEXT_ITEM_STATUS[status];
  return row[event] ?? null;
}

export const ITEM_STATUSES = Object.keys(NEXT_ITEM_STATUS) as ItemStatus[];

export type FinalStatus = 'success' | 'failed' | 'skipped' | 'cancelled';

export function isFinal(status: ItemStatus): status is FinalStatus {
  return status === 'success' || status === 'failed' || status === 'skipped' || status === 'cancelled';
}

/** One input of a job, as it is submitted. */
export interface NewItem {
  readonly itemId: string;
  readonly input: ItemInput;
  /** Only of a re-extraction. */
  readonly source?: SourcePage;
  /** What it belongs to, such as a site. A job may have its batches made by it (`Batching`). */
  readonly group?: string;
  /** Only of an item that another found: 1 if that one was submitted, and one more for each item between. */
  readonly depth?: number;
}

/** An item of a list whose id was given before. */
export interface RepeatedItem {
  readonly index: number;
  /** Place of the item that has this id already. */
  readonly first: number;
  /** Whether the two have different inputs: then they are not one item that was sent twice, but two under one id. */
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

/** Whether two inputs say the same, in whatever order their fields are. */
export function isSameInput(one: ItemInput, other: ItemInput): boolean {
  return one === other || canonicalJson(one) === canonicalJson(other);
}

/** What a re-extraction reads instead of the web: what another job kept of the same item. */
export interface SourcePage {
  /** Of an item that only has pages with names, the first of them. */
  readonly html: StoredArtifact;
  /** All pages with names; absent where there are none. */
  readonly pages?: readonly StoredArtifact[];
  /** Tells where the page came from; null where that was not kept. */
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
  /** That of the try which tells most about the item (`mostTelling`). */
  readonly failure: Failure | null;
  /** Present if the item was skipped; older versions did not record it. */
  readonly skipReason?: SkipReason;
  /** The last tries that failed, oldest first; absent if there was only one try. */
  readonly failedTries?: readonly FailedTry[];
  /** Version of the scraper, if it is not the one that the job was created with. */
  readonly scraperVersion?: string;
  /** Present if another scraper than the job's parsed the page again, and its data replace those of this attempt. */
  readonly scraperId?: string;
  /** What it sent and received, all its tries together; absent for nothing, and in attempts of older versions. */
  readonly usage?: AttemptUsage;
}

/** A failed item whose stored page a re-extraction could read. */
export interface RecoveredItem {
  readonly seq: number;
  /** The attempt that failed and whose page was read. An item that has been tried again since is left as it is. */
  readonly attempt: number;
  /** What the item has from now on. */
  readonly artifacts: readonly StoredArtifact[];
  /** How the re-extraction read it. */
  readonly reading: Omit<AttemptRecord, 'attempt' | 'end' | 'failure'>;
}

/** The recovery in the item's history: an attempt of its own, with the next number. */
export function recoveryOf({ attempt, reading }: RecoveredItem): AttemptRecord {
  return { ...reading, attempt: attempt + 1, end: 'success', failure: null };
}

export const MAX_ITEM_ID_LENGTH = 1000;

export const MAX_GROUP_LENGTH = 200;

export const MAX_VERSION_LENGTH = 100;

/** The field, or none: what most items have in common with their job is not kept once more for each. */
export function otherVersion(
  { scraperVersion }: { readonly scraperVersion?: string },
  job: { readonly scraperVersion: string },
): Pick<AttemptRecord, 'scraperVersion'> {
  return scraperVersion === undefined || scraperVersion === job.scraperVersion ? {} : { scraperVersion };
}

/**
 * The number of attempts that came to an end. A delivery that was returned uncharged does not count, although the keys of
 * artifacts count it. If the history is longer than what is kept, the deliveries tell how many are no longer listed.
 */
export function countAttempts({ attempts }: Pick<ItemRecord, 'attempts'>): number {
  return attempts.length + unlistedAttempts({ attempts });
}

/** Attempts before the first that is listed. */
export function unlistedAttempts({ attempts }: Pick<ItemRecord, 'attempts'>): number {
  return attempts.length < MAX_HISTORY ? 0 : (attempts[0]?.attempt ?? 1) - 1;
}

/** What the ledger knows of an item. */
export interface ItemRecord {
  readonly jobId: string;
  readonly seq: number;
  readonly itemId: string;
  readonly input: ItemInput;
  readonly status: ItemStatus;
  /** Times a worker died or went silent with this item in its hands, since it was last reopened. */
  readonly strikes: number;
  /** Deliveries so far, whether or not they came to an end: each names the keys of its artifacts. */
  readonly deliveries: number;
  /** Attempts that came to an end, oldest first; the last one is what the status tells. At most MAX_HISTORY. */
  readonly attempts: readonly AttemptRecord[];
  /** What the last attempt kept, of a failed one too; none while the item is not final. */
  readonly artifacts: readonly StoredArtifact[];
  /** Only of a re-extraction. */
  readonly source?: SourcePage;
  /** Only if it was given one. */
  readonly group?: string;
  /** Only of an item that another found. */
  readonly depth?: number;
}

/** Kept per item, so that a job retried every night for a year does not grow for ever. */
export const MAX_HISTORY = 10;

/** Why the item was skipped; null if it was not, or if that was not recorded. */
export function skipReasonOf({ status, attempts }: Pick<ItemRecord, 'status' | 'attempts'>): SkipReason | null {
  return status === 'skipped' ? (attempts.at(-1)?.skipReason ?? null) : null;
}
