import type { StoredArtifact } from '../../../src/domain/artifact.ts';
import {
  type AttemptRecord,
  type FinalStatus,
  type ItemInput,
  type ItemRecord,
  type ItemStatus,
  isSameInput,
  type NewItem,
  type RepeatedItem,
  type SourcePage,
} from '../../../src/domain/item.ts';
import type { JobRecord } from '../../../src/domain/job.ts';
import type { ItemHold } from '../../../src/domain/job-wait.ts';
import { openStatus, placeInBatch } from '../../../src/domain/open-status.ts';
import { kindWhenBack } from '../../../src/domain/pending-order.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import { FailureGroups } from './failure-groups.ts';

/**
 * What the memory ledger keeps. An item's status is not stored: it is final, or it follows from the batch that the item
 * is in, or the item is pending. Pending items are in one of three places: came back (`returned`), came back with a
 * strike (`suspects`), or were never out (from `cursor` on).
 */
export interface JobEntry {
  /** Grows with each job made. */
  readonly number: number;
  record: JobRecord;
  readonly items: ItemEntry[];
  readonly byId: Map<string, ItemEntry>;
  readonly batches: Set<Batch>;
  readonly returned: Set<ItemEntry>;
  readonly suspects: Set<ItemEntry>;
  cursor: number;
  readonly groups: FailureGroups;
}

export interface ItemEntry {
  readonly seq: number;
  readonly itemId: string;
  input: ItemInput;
  source: SourcePage | null;
  group: string | null;
  readonly depth: number | null;
  final: FinalStatus | null;
  batch: Batch | null;
  strikes: number;
  deliveries: number;
  attempts: readonly AttemptRecord[];
  artifacts: readonly StoredArtifact[];
  /** Set only while it is pending. */
  hold: ItemHold | null;
}

export interface Batch {
  readonly ref: BatchRef;
  readonly job: JobEntry;
  readonly suspect: boolean;
  queuedAt: number;
  /** In the order in which they are to be carried out. */
  readonly unsettled: Set<ItemEntry>;
  /** Null while the batch is queued. */
  hold: Hold | null;
}

/** A worker's lease, as long as its token is the batch's. */
export interface Hold {
  readonly token: string;
  readonly worker: string;
  readonly claimedAt: number;
  until: number;
  begun: ItemEntry | null;
}

export function newJobEntry(number: number, record: JobRecord): JobEntry {
  return {
    number,
    record,
    items: [],
    byId: new Map(),
    batches: new Set(),
    returned: new Set(),
    suspects: new Set(),
    cursor: 0,
    groups: new FailureGroups(),
  };
}

export function appendItem(job: JobEntry, { itemId, input, source, group, depth }: NewItem): void {
  const item: ItemEntry = {
    seq: job.items.length,
    itemId,
    input,
    source: source ?? null,
    group: group ?? null,
    depth: depth ?? null,
    final: null,
    batch: null,
    strikes: 0,
    deliveries: 0,
    attempts: [],
    artifacts: [],
    hold: null,
  };
  job.items.push(item);
  job.byId.set(itemId, item);
}

/** Items whose id the job has already, or an earlier item of the list. */
export function knownItems(job: JobEntry, items: readonly NewItem[]): RepeatedItem[] {
  const met = new Map<string, { readonly seq: number; readonly input: ItemInput }>();
  const known: RepeatedItem[] = [];
  for (const [index, { itemId, input }] of items.entries()) {
    const there = job.byId.get(itemId) ?? met.get(itemId);
    if (there === undefined) met.set(itemId, { seq: job.items.length + index - known.length, input });
    else known.push({ index, first: there.seq, differs: !isSameInput(there.input, input) });
  }
  return known;
}

/** An item that is in no batch and not final goes where the next dispatch finds it. */
export function makePending(job: JobEntry, item: ItemEntry): void {
  item.batch = null;
  item.final = null;
  item.hold = null;
  (kindWhenBack(item.strikes) === 'suspect' ? job.suspects : job.returned).add(item);
}

export function makeCancelled(item: ItemEntry): void {
  item.batch = null;
  item.final = 'cancelled';
}

export function firstOf<T>(set: ReadonlySet<T>): T | undefined {
  return set.values().next().value;
}

export function statusOf(item: ItemEntry): ItemStatus {
  if (item.final !== null) return item.final;
  const { batch } = item;
  if (batch === null) return openStatus('waiting', false);
  return openStatus(placeInBatch(firstOf(batch.unsettled) === item, batch.hold !== null), false);
}

export function itemRecord(jobId: string, item: ItemEntry): ItemRecord {
  const { seq, itemId, input, strikes, deliveries, attempts, artifacts } = item;
  const status = statusOf(item);
  const group = item.group === null ? {} : { group: item.group };
  const about = { jobId, seq, itemId, input, ...sourceOf(item), ...group, ...depthOf(item) };
  return { ...about, status, strikes, deliveries, attempts, artifacts };
}

/** Likewise: a submitted item does not have the field. */
export function depthOf({ depth }: ItemEntry): { readonly depth?: number } {
  return depth === null ? {} : { depth };
}

/** A field of its own, or none: what has no source does not have the field. */
export function sourceOf({ source }: ItemEntry): { readonly source?: SourcePage } {
  return source === null ? {} : { source };
}
