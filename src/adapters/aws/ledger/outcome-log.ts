import { hash } from 'node:crypto';
import type { StoredArtifact } from '../../../domain/artifact.ts';
import { attemptRecord } from '../../../domain/attempts.ts';
import type { FailedTry } from '../../../domain/failed-try.ts';
import type { Failure } from '../../../domain/failure.ts';
import type { AttemptRecord } from '../../../domain/item.ts';
import { keptOf } from '../../../domain/outcome.ts';
import type { SkipReason } from '../../../domain/skip-reason.ts';
import type { AttemptUsage } from '../../../domain/usage.ts';
import type { Settlement } from '../../../ports/ledger.ts';
import { bytes, bytesOf, countOf, json, jsonOf, type Key, num, type Row, text, textOf } from '../dynamo/attributes.ts';
import { IS_NEW, sameVersion } from '../dynamo/expressions.ts';
import { packJson, unpackJson } from '../dynamo/packing.ts';
import type { Action, Table } from '../dynamo/table.ts';
import type { FlyingItem } from './batch-row.ts';
import { type BatchName, chunkPk, outcomePieceSk, outcomeSk } from './keys.ts';

/** How an item ended, as stored. A missing field means that there is nothing. */
export interface OutcomeEntry {
  readonly seq: number;
  readonly attempt: number;
  readonly tries: number;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly end: AttemptRecord['end'];
  readonly failure?: Failure;
  readonly skipReason?: SkipReason;
  /** Set only for an attempt with more than one try. */
  readonly failedTries?: readonly FailedTry[];
  readonly artifacts?: readonly StoredArtifact[];
  readonly strikes?: number;
  /** Set if it is not the job's. */
  readonly scraperVersion?: string;
  /** Set only for a recovery by a scraper other than the job's. */
  readonly scraperId?: string;
  readonly usage?: AttemptUsage;
  /** The failure was counted in the collective group of its type. */
  readonly isOther?: true;
}

export function outcomeEntry(
  settlement: Settlement,
  item: FlyingItem,
  job: { readonly scraperVersion: string },
  isOther: boolean,
): OutcomeEntry {
  const { failure, ...ended } = attemptRecord(settlement, job);
  const kept = keptOf(settlement.outcome);
  return {
    seq: settlement.seq,
    ...ended,
    ...(failure === null ? {} : { failure }),
    ...(kept.length > 0 ? { artifacts: kept } : {}),
    ...(item.strikes > 0 ? { strikes: item.strikes } : {}),
    ...(isOther ? { isOther } : {}),
  };
}

export function attemptOf(entry: OutcomeEntry): AttemptRecord {
  const { attempt, tries, startedAt, durationMs, end, failure = null, skipReason } = entry;
  const { failedTries, scraperVersion, scraperId, usage } = entry;
  const skip = skipReason === undefined ? {} : { skipReason };
  const retried = failedTries === undefined ? {} : { failedTries };
  const version = scraperVersion === undefined ? {} : { scraperVersion };
  const reader = scraperId === undefined ? {} : { scraperId };
  const used = usage === undefined ? {} : { usage };
  return { attempt, tries, startedAt, durationMs, end, failure, ...skip, ...retried, ...version, ...reader, ...used };
}

/** Up to here a transaction, which costs twice, costs less than another row. */
const INLINE_BYTES = 2000;

/**
 * Entries of one chunk as rows. Small ones go into the transaction itself; large ones are written before, where a
 * kilobyte costs half, and count only if the transaction names them: a write that was fenced leaves rows that are never
 * read. They are named after their writer, so that another try overwrites them.
 *
 * `cancelled`: items that leave the batch in the same step because their job was cancelled. Their deliveries and strikes,
 * which only the batch's row knew, are noted in the row, so that it costs no other write.
 */
export function outcomeRows(
  { inc, chunk }: BatchName,
  token: string,
  entries: readonly OutcomeEntry[],
  cancelled: readonly FlyingItem[] = [],
): OutcomeRows {
  const pk = text(chunkPk(inc, chunk));
  const id = hash('sha256', `${token} ${entries.map(({ seq }) => seq)}`).slice(0, 24);
  const pieces = packJson(entries);
  const [only] = pieces;
  const marks = cancelled.length === 0 ? {} : { items: marksOf(cancelled) };
  if (pieces.length === 1 && only !== undefined && only.length <= INLINE_BYTES) {
    return { before: [], row: { pk, sk: text(outcomeSk(id)), packed: bytes(only), ...marks } };
  }
  const before = pieces.map((piece, index) => ({ pk, sk: text(outcomePieceSk(id, index)), packed: bytes(piece) }));
  return { before, row: { pk, sk: text(outcomeSk(id)), pieces: num(pieces.length), ...marks } };
}

interface OutcomeRows {
  /** To be written first, unconditionally. */
  readonly before: readonly Row[];
  /** Part of the transaction. */
  readonly row: Row;
}

/**
 * The outcomes in the rows of a chunk. Rows are read in the order of their keys, and a settle may happen meanwhile:
 * pieces that were not among them are read by their names.
 */
export async function outcomesOfRows(table: Table, rows: readonly Row[]): Promise<readonly OutcomeEntry[]> {
  const read = new Map(rows.map((row) => [textOf(row, 'sk'), row]));
  const outcomes = rows.filter((row) => textOf(row, 'sk').startsWith('O#'));
  const missing = outcomes.flatMap(pieceKeys).filter(({ sk }) => !read.has(sk));
  if (missing.length > 0) {
    for (const row of await table.getAll(missing)) if (row !== null) read.set(textOf(row, 'sk'), row);
  }
  return outcomes.flatMap((row) => {
    const keys = pieceKeys(row);
    const packed = keys.length === 0 ? [row] : keys.map(({ sk }) => read.get(sk));
    const isWhole = packed.every((piece) => piece !== undefined);
    if (!isWhole) throw new Error(`outcomes are missing that ${textOf(row, 'pk')} ${textOf(row, 'sk')} names`);
    return unpackJson<readonly OutcomeEntry[]>(packed.map((piece) => bytesOf(piece, 'packed')));
  });
}

function pieceKeys(row: Row): readonly Key[] {
  const id = textOf(row, 'sk').slice(2);
  return Array.from({ length: countOf(row, 'pieces') }, (_, index) => ({
    pk: textOf(row, 'pk'),
    sk: outcomePieceSk(id, index),
  }));
}

/** Deliveries and strikes of items that came back, which would otherwise be known only to the pool. */
export function returnMark(inc: string, chunk: number, id: string, items: readonly FlyingItem[]): Row {
  return { pk: text(chunkPk(inc, chunk)), sk: text(`M#${id}`), items: marksOf(items) };
}

function marksOf(items: readonly FlyingItem[]): Row[string] {
  return json(items.map(({ seq, deliveries, strikes }) => [seq, deliveries, strikes]));
}

/** Up to which attempt items of a chunk were reopened: earlier ends are history. */
export interface ReopenMark {
  readonly items: ReadonlyMap<number, number>;
  /** Zero where there is no mark yet. */
  readonly version: number;
}

/** One row for a chunk. Rows `R#` and an id, which hold the marks of one retry each, are of an older version, and count too. */
export function reopenMarkKey(inc: string, chunk: number): Key {
  return { pk: chunkPk(inc, chunk), sk: 'R#' };
}

export function reopenMarkOf(row: Row | null): ReopenMark {
  if (row === null) return { items: new Map(), version: 0 };
  return {
    items: new Map(jsonOf<readonly (readonly [number, number])[]>(row, 'items')),
    version: countOf(row, 'version'),
  };
}

/**
 * Adds to the mark, if it is still the one that was read. DynamoDB applies a transaction row by row, and a read that is
 * not a transaction may see the job as it is after a retry, and the chunk as it was before: with the epoch of the job
 * alone, the same items would be reopened twice. Every retry of items of a chunk writes this row, so the second one is
 * refused.
 */
export function reopenMarkAction(
  key: Key,
  { items, version }: ReopenMark,
  reopened: readonly { readonly seq: number; readonly attempt: number }[],
): Action {
  const marked = new Map(items);
  for (const { seq, attempt } of reopened) marked.set(seq, attempt);
  const row = { pk: text(key.pk), sk: text(key.sk), items: json([...marked]), version: num(version + 1) };
  return { put: row, when: version === 0 ? IS_NEW : sameVersion(version) };
}
