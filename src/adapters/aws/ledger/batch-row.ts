import type { Lane } from '../../../domain/lane.ts';
import { leftByCancel } from '../../../domain/open-status.ts';
import type { BatchRef } from '../../../ports/work-queue.ts';
import { json, jsonOf, maybeText, num, numOf, type Row, text, textOf } from '../dynamo/attributes.ts';
import type { Condition } from '../dynamo/expressions.ts';
import { type BatchName, batchIdOf, batchKey, batchNameOf } from './keys.ts';

/** An item that is in a batch or waits for one. Deliveries exclude the one made by the batch's own claim. */
export interface FlyingItem {
  readonly seq: number;
  readonly deliveries: number;
  readonly strikes: number;
}

/** A batch in flight. All its items are in one chunk. */
export interface Batch {
  readonly name: BatchName;
  readonly jobId: string;
  readonly lane: Lane;
  readonly suspect: boolean;
  readonly queuedAt: number;
  /** The job's version, for attempts whose scraper had another. */
  readonly scraperVersion: string;
  /** In the order in which they are processed; settled ones are removed. */
  readonly unsettled: readonly FlyingItem[];
  readonly hold: Hold | null;
  /** Grows with every change of the row but a renewal. */
  readonly version: number;
}

export interface Hold {
  readonly token: string;
  readonly worker: string;
  readonly claimedAt: number;
  readonly until: number;
  readonly begun: number | null;
}

/**
 * Similar neighbours as one: a row is billed by the kilobyte and written three times, and most batches are one such
 * run.
 */
type PackedRun = readonly [first: number, count: number, deliveries: number, strikes: number];

export function packItems(items: readonly FlyingItem[]): Row[string] {
  const runs: [number, number, number, number][] = [];
  for (const { seq, deliveries, strikes } of items) {
    const last = runs.at(-1);
    const isNext = last !== undefined && last[0] + last[1] === seq && last[2] === deliveries && last[3] === strikes;
    if (isNext) last[1] += 1;
    else runs.push([seq, 1, deliveries, strikes]);
  }
  return json(runs satisfies PackedRun[]);
}

export function unpackItems(row: Row): readonly FlyingItem[] {
  return jsonOf<readonly PackedRun[]>(row, 'items').flatMap(([first, count, deliveries, strikes]) =>
    Array.from({ length: count }, (_, index) => ({ seq: first + index, deliveries, strikes })),
  );
}

export function batchRow(batch: Batch): Row {
  const { pk, sk } = batchKey(batch.name);
  return {
    pk: text(pk),
    sk: text(sk),
    job: text(batch.jobId),
    lane: text(batch.lane),
    ...(batch.suspect ? { suspect: { BOOL: true } } : {}),
    queuedAt: num(batch.queuedAt),
    scraper: text(batch.scraperVersion),
    items: packItems(batch.unsettled),
    version: num(batch.version),
    dueKey: text(dueKey('queued', batch.name.id)),
    dueAt: num(batch.queuedAt),
  };
}

export function batchOfRow(row: Row): Batch {
  const token = maybeText(row, 'token');
  return {
    name: batchNameOf({ pk: textOf(row, 'pk'), sk: textOf(row, 'sk') }),
    jobId: textOf(row, 'job'),
    lane: textOf(row, 'lane') as Lane,
    suspect: row['suspect'] !== undefined,
    queuedAt: numOf(row, 'queuedAt'),
    scraperVersion: textOf(row, 'scraper'),
    unsettled: unpackItems(row),
    hold:
      token === null
        ? null
        : {
            token,
            worker: textOf(row, 'worker'),
            claimedAt: numOf(row, 'claimedAt'),
            until: numOf(row, 'until'),
            begun: row['begun'] === undefined ? null : numOf(row, 'begun'),
          },
    version: numOf(row, 'version'),
  };
}

export function refOf({ name, jobId, lane }: Batch): BatchRef {
  return { jobId, batchId: batchIdOf(name), lane };
}

/** Items still to be processed; in a cancelled job (`isShut`), which leaves the row unchanged, fewer than it has. */
export function openItems({ unsettled, hold }: Batch, isShut: boolean): readonly FlyingItem[] {
  return isShut ? unsettled.slice(0, leftByCancel(hold !== null)) : unsettled;
}

/** With its present claim, if there is one. */
export function deliveriesOf({ hold }: Batch, item: FlyingItem): number {
  return item.deliveries + (hold === null ? 0 : 1);
}

/** The index of due batches is spread, so that all batches of all jobs are not in one partition. */
export const DUE_SHARDS = 4;

export function dueKey(kind: 'queued' | 'leased', id: string): string {
  let sum = 0;
  for (let place = 0; place < id.length; place += 1) sum = (sum * 31 + id.charCodeAt(place)) % 1_000_003;
  return dueShard(kind, sum % DUE_SHARDS);
}

export function dueShard(kind: 'queued' | 'leased', shard: number): string {
  return `${kind === 'queued' ? 'Q' : 'L'}#${shard}`;
}

/**
 * The row is unchanged since it was read, including its lease. `withUntil` is for callers that act because the lease
 * has expired.
 */
export function unchanged({ hold, version }: Batch, { withUntil = false } = {}): Condition {
  const values: Record<string, Row[string]> = { ':ifVersion': num(version) };
  const terms = ['#version = :ifVersion'];
  if (hold === null) terms.push('attribute_not_exists(#token)');
  else {
    terms.push('#token = :ifToken');
    values[':ifToken'] = text(hold.token);
    if (withUntil) {
      terms.push('#until = :ifUntil');
      values[':ifUntil'] = num(hold.until);
    }
  }
  return { expression: terms.join(' AND '), values };
}
