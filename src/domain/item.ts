import type { StoredArtifact } from './artifact.ts';
import type { Failure } from './failure.ts';

/**
 * The life of an item. It is `pending` until its batch is dispatched, `queued` while the batch waits for a worker,
 * `in_progress` while a worker has it. Success, skipped, failed and cancelled are final; only an explicit retry reopens
 * a failed item. An item that a worker holds is not cancelled under it: it ends by itself, or is cancelled when it
 * comes back (see `release` and `expire` of a cancelled job in the ledger's contract).
 */
export type ItemStatus = 'pending' | 'queued' | 'in_progress' | 'success' | 'failed' | 'skipped' | 'cancelled';

export type ItemEvent =
  | 'dispatch'
  | 'claim'
  | 'lose'
  | 'succeed'
  | 'skip'
  | 'giveUp'
  | 'release'
  | 'expire'
  | 'cancel'
  | 'retry';

export const NEXT_ITEM_STATUS = {
  pending: { dispatch: 'queued', cancel: 'cancelled' },
  queued: { claim: 'in_progress', lose: 'pending', cancel: 'cancelled' },
  in_progress: { succeed: 'success', skip: 'skipped', giveUp: 'failed', release: 'pending', expire: 'pending' },
  success: {},
  skipped: {},
  failed: { retry: 'pending' },
  cancelled: {},
} as const satisfies Record<ItemStatus, Partial<Record<ItemEvent, ItemStatus>>>;

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
}

/** Places of items whose id stands earlier in the list. */
export function repeatedIds(items: readonly NewItem[]): number[] {
  const seen = new Set<string>();
  const indexes: number[] = [];
  for (const [index, { itemId }] of items.entries()) {
    if (seen.has(itemId)) indexes.push(index);
    seen.add(itemId);
  }
  return indexes;
}

/** What a re-extraction reads instead of the web: what another job kept of the same item. */
export interface SourcePage {
  readonly html: StoredArtifact;
  /** Tells where the page came from; null where that was not kept. */
  readonly metadata: StoredArtifact | null;
}

export type ItemInput = Readonly<Record<string, unknown>>;

/** How one delivery of an item ended. Tries inside it (the scraper's own retries) are counted, not listed. */
export interface AttemptRecord {
  /** 1, 2, 3 … over the whole life of the item; names the keys of its artifacts. */
  readonly attempt: number;
  readonly tries: number;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly end: 'success' | 'skipped' | 'failed';
  readonly failure: Failure | null;
  /** Of the scraper, only where it is not the version that the job was made with. */
  readonly scraperVersion?: string;
  /** Only where another scraper than the job's read the page anew, and its data stand for those of this attempt. */
  readonly scraperId?: string;
}

export const MAX_VERSION_LENGTH = 100;

/** The field, or none: what most items have in common with their job is not kept once more for each. */
export function otherVersion(
  { scraperVersion }: { readonly scraperVersion?: string },
  job: { readonly scraperVersion: string },
): Pick<AttemptRecord, 'scraperVersion'> {
  return scraperVersion === undefined || scraperVersion === job.scraperVersion ? {} : { scraperVersion };
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
  readonly artifacts: readonly StoredArtifact[];
  /** Only of a re-extraction. */
  readonly source?: SourcePage;
}

/** Kept per item, so that a job retried every night for a year does not grow for ever. */
export const MAX_HISTORY = 10;

/** An item that killed its worker this often is failed as `poison`. */
export const MAX_STRIKES = 3;

/** With the next strike one of these is poison: nothing else may be running that it could be blamed for. */
export function mustRunAlone(items: readonly { readonly strikes: number }[]): boolean {
  return items.some(({ strikes }) => strikes >= MAX_STRIKES - 1);
}
