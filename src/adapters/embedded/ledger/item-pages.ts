import type { FailureType } from '../../../domain/failure.ts';
import type { ItemInput, ItemRecord, ItemStatus } from '../../../domain/item.ts';
import { openStatus, placeInBatch } from '../../../domain/open-status.ts';
import type { ItemFilter, Page, PageRequest } from '../../../ports/ledger.ts';
import type { Batch, BatchItem } from './batches.ts';
import { MAX_LOOKED_AT, placeOfCursor } from './books.ts';
import { type GroupReader, groupField } from './item-groups.ts';
import type { JobEntry } from './jobs.ts';
import { attemptsOf, detailOf, endOf, historyOf, type OutcomeRow, statusCode } from './outcomes.ts';
import { lastKey, placeOf, rowKey } from './row-key.ts';
import { sourceOf } from './source-column.ts';
import type { Tables } from './tables.ts';

/**
 * Items as records, in pages. An item's status is not stored anywhere: it has an outcome, or it is in a batch, or it is
 * pending. Every page is a few ranges of keys, wherever in the job it is.
 */
export function itemPage(tables: Tables, entry: JobEntry, filter: ItemFilter, page: PageRequest): Page<ItemRecord> {
  const { status, errorType } = filter;
  if (errorType !== null) {
    if (status !== null && status !== 'failed') return NOTHING;
    return failedPage(tables, entry, errorType, page);
  }
  switch (status) {
    case null:
      return wholePage(tables, entry, page);
    case 'success':
      return successPage(tables, entry, page);
    case 'failed':
    case 'skipped':
      return endedPage(tables, entry, status, page);
    case 'queued':
    case 'in_progress':
      return firstsPage(tables, entry, status, page);
    case 'pending':
    case 'cancelled':
      return waitingPage(tables, entry, status, page);
  }
}

export function itemAt(tables: Tables, entry: JobEntry, seq: number): ItemRecord | null {
  return itemsFrom(tables, entry, seq, 1)[0] ?? null;
}

/** A place that the job does not have leads to no item, least of all to one of another job. */
export function itemsFrom(tables: Tables, entry: JobEntry, first: number, limit: number): readonly ItemRecord[] {
  const from = Math.max(0, first);
  if (from >= entry.record.counts.total) return [];
  return wholePage(tables, entry, { after: from === 0 ? null : String(from - 1), limit }).entries;
}

const NOTHING: Page<ItemRecord> = { entries: [], next: null };

/** The row of an item, with its outcome if it has one. Statements hand it out as an array, in this order. */
interface ItemRow extends Omit<OutcomeRow, 'status' | 'error_type'> {
  readonly item_id: string;
  readonly input: string;
  readonly source: string | null;
  readonly depth: number | null;
  readonly status: number | null;
}

interface EndedRow extends ItemRow {
  readonly status: number;
}

function rowOf(found: unknown): ItemRow {
  const [key, item_id, input, source, depth, status, attempt, tries, started_at, duration_ms, detail] = found as [
    number,
    string,
    string,
    string | null,
    number | null,
    number | null,
    number,
    number,
    number,
    number,
    string | null,
  ];
  return { key, item_id, input, source, depth, status, attempt, tries, started_at, duration_ms, detail };
}

function endedRowOf(found: unknown): EndedRow {
  return rowOf(found) as EndedRow;
}

interface ReturnedRow extends Omit<BatchItem, 'seq' | 'itemId'> {
  readonly key: number;
}

/** What is known of an item that has no outcome. */
type Unsettled = Omit<BatchItem, 'seq' | 'itemId'> & { readonly status: ItemStatus };

function rangeAfter(entry: JobEntry, { after }: PageRequest): [after: number, last: number] {
  return [rowKey(entry.num, placeOfCursor(after)), lastKey(entry.num)];
}

function pageOf(entries: ItemRecord[], limit: number, isCut = false): Page<ItemRecord> {
  const last = entries.at(-1);
  return { entries, next: last !== undefined && (isCut || entries.length >= limit) ? String(last.seq) : null };
}

/** Limit for inputs and outcomes on one page: a thousand items of a megabyte each would block the process for seconds. */
const MAX_PAGE_BYTES = 2 * 2 ** 20;

/** Rows until they are too large, but at least one. */
function lightRows<Row extends ItemRow>(
  found: Iterable<unknown>,
  toRow: (found: unknown) => Row,
): { readonly rows: Row[]; readonly isCut: boolean } {
  const rows: Row[] = [];
  let bytes = 0;
  for (const one of found) {
    const row = toRow(one);
    bytes += row.input.length + (row.detail?.length ?? 0);
    if (rows.length > 0 && bytes > MAX_PAGE_BYTES) return { rows, isCut: true };
    rows.push(row);
  }
  return { rows, isCut: false };
}

/** Manifests and exports read whole jobs like this. A list of rows takes two thirds of the time of one row after another. */
function wholePage(tables: Tables, entry: JobEntry, page: PageRequest): Page<ItemRecord> {
  const [after, last] = rangeAfter(entry, page);
  const { itemsAfter } = tables.sql;
  const isLight = weightOf(tables, after, Math.min(last, after + page.limit)) <= MAX_PAGE_BYTES;
  const found = isLight ? itemsAfter.all(after, last, page.limit) : itemsAfter.iterate(after, last, page.limit);
  const { rows, isCut } = lightRows(found, rowOf);
  return pageOf(recordsOf(tables, entry, rows), page.limit, isCut);
}

/** In bytes. The items of a job have no gaps between their keys. SQLite knows it without reading the texts. */
function weightOf({ sql }: Tables, after: number, last: number): number {
  return (
    Number(sql.inputBytesBetween.get(after, last)?.['bytes']) +
    Number(sql.detailBytesBetween.get(after, last)?.['bytes'])
  );
}

function failedPage(tables: Tables, entry: JobEntry, type: FailureType, page: PageRequest): Page<ItemRecord> {
  const found = tables.sql.itemsOfErrorAfter.iterate(type, ...rangeAfter(entry, page), page.limit);
  return endedRecords(tables, entry, found, page.limit);
}

function endedPage(tables: Tables, entry: JobEntry, status: 'failed' | 'skipped', page: PageRequest): Page<ItemRecord> {
  const range = rangeAfter(entry, page);
  const found = tables.sql.itemsOfStatusAfter.iterate(statusCode(status), ...range, page.limit);
  return endedRecords(tables, entry, found, page.limit);
}

function endedRecords(tables: Tables, entry: JobEntry, found: Iterable<unknown>, limit: number): Page<ItemRecord> {
  const { rows, isCut } = lightRows(found, endedRowOf);
  const groups = tables.groups.reader(entry.num);
  return pageOf(
    rows.map((row) => endedRecord(entry, row, groups)),
    limit,
    isCut,
  );
}

/** Successes have no index, because most items are successes: the others on the way are skipped. */
function successPage(tables: Tables, entry: JobEntry, page: PageRequest): Page<ItemRecord> {
  const picked: ItemRecord[] = [];
  const most = page.limit + MAX_LOOKED_AT;
  const groups = tables.groups.reader(entry.num);
  let looked = 0;
  let bytes = 0;
  let lastSeq: number | null = null;
  for (const found of tables.sql.itemsWithOutcomeAfter.iterate(...rangeAfter(entry, page), most)) {
    const row = endedRowOf(found);
    looked += 1;
    lastSeq = placeOf(row.key);
    if (endOf(row) === 'success') {
      picked.push(endedRecord(entry, row, groups));
      bytes += row.input.length + (row.detail?.length ?? 0);
    }
    if (picked.length === page.limit || bytes > MAX_PAGE_BYTES) break;
  }
  const isCut = picked.length === page.limit || bytes > MAX_PAGE_BYTES || looked === most;
  return { entries: picked, next: isCut && lastSeq !== null ? String(lastSeq) : null };
}

/** The first unsettled item of each batch: the others in it are pending. */
function firstsPage(
  tables: Tables,
  entry: JobEntry,
  status: 'queued' | 'in_progress',
  page: PageRequest,
): Page<ItemRecord> {
  const after = placeOfCursor(page.after);
  const seqs: number[] = [];
  for (const batch of tables.batches.ofJob(entry.num)) {
    const first = batch.items[0];
    if (first !== undefined && first.seq > after && statusIn(entry, batch, true) === status) seqs.push(first.seq);
  }
  return placesPage(tables, entry, inOrder(seqs, page.limit), page.limit);
}

/**
 * Pending items were returned, come after the first of their batch, or were never dispatched: the first of each, merged.
 * In a cancelled job the same places hold the cancelled ones.
 */
function waitingPage(
  tables: Tables,
  entry: JobEntry,
  status: 'pending' | 'cancelled',
  page: PageRequest,
): Page<ItemRecord> {
  if (openStatus('waiting', entry.record.status === 'cancelled') !== status) return NOTHING;
  const after = placeOfCursor(page.after);
  const seqs: number[] = [];
  const returned = tables.sql.returnedFirst.all(rowKey(entry.num, after + 1), lastKey(entry.num), page.limit);
  for (const row of returned) seqs.push(placeOf(Number(row['key'])));
  for (const batch of tables.batches.ofJob(entry.num)) {
    for (const { seq } of batch.items.slice(1)) if (seq > after) seqs.push(seq);
  }
  const { total } = entry.record.counts;
  for (let seq = Math.max(entry.cursor, after + 1), room = page.limit; seq < total && room > 0; seq += 1, room -= 1) {
    seqs.push(seq);
  }
  return placesPage(tables, entry, inOrder(seqs, page.limit), page.limit);
}

function inOrder(seqs: number[], limit: number): number[] {
  return seqs.sort((one, other) => one - other).slice(0, limit);
}

function placesPage(tables: Tables, entry: JobEntry, seqs: readonly number[], limit: number): Page<ItemRecord> {
  const found = seqs.values().flatMap((seq) => {
    const key = rowKey(entry.num, seq);
    return tables.sql.itemsAfter.all(key - 1, key, 1);
  });
  const { rows, isCut } = lightRows(found, rowOf);
  return pageOf(recordsOf(tables, entry, rows), limit, isCut);
}

function recordsOf(tables: Tables, entry: JobEntry, rows: readonly ItemRow[]): ItemRecord[] {
  const unsettled = new UnsettledItems(tables, entry, rows);
  const groups = tables.groups.reader(entry.num);
  return rows.map((row) => {
    if (isEnded(row)) return endedRecord(entry, row, groups);
    const { status, strikes, deliveries, history } = unsettled.at(placeOf(row.key));
    return recordOf(entry, row, groups, { status, strikes, deliveries, attempts: historyOf(history), artifacts: [] });
  });
}

function isEnded(row: ItemRow): row is EndedRow {
  return row.status !== null;
}

function endedRecord(entry: JobEntry, row: EndedRow, groups: GroupReader): ItemRecord {
  const detail = detailOf(row);
  return recordOf(entry, row, groups, {
    status: endOf(row),
    strikes: detail.strikes ?? 0,
    deliveries: row.attempt,
    attempts: attemptsOf(row, detail),
    artifacts: detail.artifacts ?? [],
  });
}

type Standing = Pick<ItemRecord, 'status' | 'strikes' | 'deliveries' | 'attempts' | 'artifacts'>;

function recordOf(entry: JobEntry, row: ItemRow, groups: GroupReader, standing: Standing): ItemRecord {
  const { status, strikes, deliveries, attempts, artifacts } = standing;
  const input: ItemInput = JSON.parse(row.input);
  const { jobId } = entry.record;
  const seq = placeOf(row.key);
  const group = groups.at(seq);
  // Field by field: manifests and exports read every item of a job, and spreading objects takes as long as parsing the input.
  const record = { jobId, seq, itemId: row.item_id, input, status, strikes, deliveries, attempts, artifacts };
  if (row.source === null && group === null && row.depth === null) return record;
  const depth = row.depth === null ? {} : { depth: row.depth };
  return { ...record, ...sourceOf(row.source), ...groupField(group), ...depth };
}

function statusIn({ record }: JobEntry, batch: Batch, isFirst: boolean): ItemStatus {
  return openStatus(placeInBatch(isFirst, batch.hold !== null), record.status === 'cancelled');
}

/** The state of the items among these rows that have no outcome; looked up only if there is one. */
class UnsettledItems {
  readonly #bySeq = new Map<number, Unsettled>();
  readonly #elsewhere: Unsettled;

  constructor(tables: Tables, entry: JobEntry, rows: readonly ItemRow[]) {
    const waits = openStatus('waiting', entry.record.status === 'cancelled');
    this.#elsewhere = { status: waits, strikes: 0, deliveries: 0, history: null };
    const open = rows.filter((row) => !isEnded(row) && placeOf(row.key) < entry.cursor);
    const [first, last] = [open[0]?.key, open.at(-1)?.key];
    if (first === undefined || last === undefined) return;

    const [firstSeq, lastSeq] = [placeOf(first), placeOf(last)];
    for (const batch of tables.batches.ofJob(entry.num)) {
      for (const [place, item] of batch.items.entries()) {
        if (item.seq < firstSeq || item.seq > lastSeq) continue;
        this.#bySeq.set(item.seq, { ...item, status: statusIn(entry, batch, place === 0) });
      }
    }
    const missing = open.filter((row) => !this.#bySeq.has(placeOf(row.key)));
    const [firstMissing, lastMissing] = [missing[0]?.key, missing.at(-1)?.key];
    if (firstMissing === undefined || lastMissing === undefined) return;
    // Never more than a page: items between two of its rows that are not in a batch are on the page, too.
    for (const row of tables.sql.returnedBetween.all(firstMissing, lastMissing) as unknown as ReturnedRow[]) {
      this.#bySeq.set(placeOf(row.key), { ...row, status: waits });
    }
  }

  at(seq: number): Unsettled {
    return this.#bySeq.get(seq) ?? this.#elsewhere;
  }
}
