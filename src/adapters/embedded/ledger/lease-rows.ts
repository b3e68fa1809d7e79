import type { ItemInput } from '../../../domain/item.ts';
import { mustRunAlone } from '../../../domain/strikes.ts';
import type { Lease, LeasedItem } from '../../../ports/ledger.ts';
import type { BatchRef } from '../../../ports/work-queue.ts';
import type { Batch, BatchItem } from './batches.ts';
import type { JobEntry } from './jobs.ts';
import { jobNumOf, rowKey } from './row-key.ts';
import { sourceOf } from './source-column.ts';
import type { Statements } from './statements.ts';

/**
 * A batch's name and the token of its lease are the number of its row. A batch is given out once, and its items go out
 * again under another number; so the token is valid for as long as the batch exists, and only for its worker.
 */
export function refOf({ record }: JobEntry, batch: Batch): BatchRef {
  return { jobId: record.jobId, batchId: batchIdOf(batch.key), lane: record.lane };
}

export function batchIdOf(key: number): string {
  return `b${key}`;
}

export function keyOfBatchId(batchId: string): number {
  return batchId.startsWith('b') ? Number(batchId.slice(1)) : Number.NaN;
}

export function keyOfToken(token: string): number {
  return token.startsWith('t') ? Number(token.slice(1)) : Number.NaN;
}

/** Works for a batch that is gone, too. */
export function batchIdOfToken(token: string): string {
  return batchIdOf(keyOfToken(token));
}

type Row = readonly [key: number, itemId: string, input: string, source: string | null, depth: number | null];

/** The items of claimed batches, read together: those that went out together are mostly adjacent. */
export class ItemsToLease {
  readonly #sql: Statements;
  readonly #rows = new Map<number, Row>();

  constructor(sql: Statements, batches: readonly Batch[]) {
    this.#sql = sql;
    let first = Number.POSITIVE_INFINITY;
    let last = Number.NEGATIVE_INFINITY;
    let count = 0;
    for (const batch of batches) {
      const jobNum = jobNumOf(batch.key);
      for (const { seq } of batch.items) {
        const key = rowKey(jobNum, seq);
        first = Math.min(first, key);
        last = Math.max(last, key);
        count += 1;
      }
    }
    if (count < 2 || last - first > MAX_SPREAD * count) return;
    for (const row of sql.itemsToLease.all(first, last) as unknown as Row[]) this.#rows.set(row[0], row);
  }

  leaseOf(entry: JobEntry, batch: Batch): Lease {
    const jobNum = jobNumOf(batch.key);
    return {
      token: `t${batch.key}`,
      ref: refOf(entry, batch),
      until: batch.dueAt,
      suspect: batch.suspect,
      alone: mustRunAlone(batch.items),
      jobCreatedAt: entry.record.createdAt,
      policyRevision: entry.record.policyRevision,
      items: batch.items.map((item) => this.#leasedItem(rowKey(jobNum, item.seq), item)),
    };
  }

  #leasedItem(key: number, item: BatchItem): LeasedItem {
    const { seq, deliveries: attempt } = item;
    const row = this.#rows.get(key) ?? (this.#sql.itemToLease.get(key) as unknown as Row | undefined);
    if (row === undefined) throw new Error(`ledger: there is no row of item ${seq}, which is in a batch`);
    const [, itemId, text, source, depth] = row;
    const input: ItemInput = JSON.parse(text);
    item.itemId = itemId;
    if (depth !== null) return { seq, itemId, input, depth, attempt };
    return source === null ? { seq, itemId, input, attempt } : { seq, itemId, input, ...sourceOf(source), attempt };
  }
}

/** How many of a batch's items, from the first on, have inputs of no more than `maxBytes` together; at least one. */
export function countFitting(sql: Statements, { key, items }: Batch, maxBytes: number): number {
  const jobNum = jobNumOf(key);
  let bytes = 0;
  for (const [index, { seq }] of items.entries()) {
    bytes += Number(sql.inputBytes.get(rowKey(jobNum, seq))?.['bytes'] ?? 0);
    if (index > 0 && bytes > maxBytes) return index;
  }
  return items.length;
}

/** Rows read for nothing cost a quarter of a read by itself. */
const MAX_SPREAD = 4;
