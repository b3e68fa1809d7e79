import { listedAttempts } from '../../../domain/attempts.ts';
import type { ItemRecord, ItemStatus, NewItem } from '../../../domain/item.ts';
import { openStatus, placeInBatch } from '../../../domain/open-status.ts';
import { atOnce } from '../at-once.ts';
import { bytes, bytesOf, countOf, json, jsonOf, num, type Row, text, textOf } from '../dynamo/attributes.ts';
import { MAX_PACKED_JSON, packJson, unpackJson } from '../dynamo/packing.ts';
import type { Table } from '../dynamo/table.ts';
import { type Batch, batchOfRow, deliveriesOf } from './batch-row.ts';
import { groupRows, groupsOfRows } from './item-groups.ts';
import type { JobRows } from './job-rows.ts';
import { CHUNK_ITEMS, chunkOf, chunkPk, correctedInputSk, inputSk, lastInputSk } from './keys.ts';
import { attemptOf, type OutcomeEntry, outcomesOfRows } from './outcome-log.ts';

/**
 * The items of a chunk, assembled from its rows. Nothing is ever overwritten: rows say what was added, what is in
 * flight, how attempts ended, what came back and what was reopened; the state of an item follows from all of them, in
 * whatever order they are read, because attempts have numbers.
 */
export interface ChunkItem {
  readonly record: ItemRecord;
  /** The last outcome, for undoing it. */
  readonly last: OutcomeEntry | null;
}

export async function readChunk(table: Table, job: JobRows, chunk: number): Promise<readonly ChunkItem[]> {
  const rows = await table.all({ pk: chunkPk(job.inc, chunk) });
  return itemsOfRows(job, rows, await outcomesOfRows(table, rows));
}

/** Ids and inputs of items without their groups, from as few rows as possible: an input may have a megabyte. */
export async function readInputs(
  table: Table,
  inc: string,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, NewItem>> {
  const byChunk = [...Map.groupBy(seqs, chunkOf)];
  const read = await atOnce(CHUNKS_AT_ONCE, byChunk, async ([chunk, ofChunk]) => {
    const first = inputSk(Math.min(...ofChunk), 0);
    const rows: Row[] = [];
    // Backwards, because a row is named by the first item that it has.
    const to = lastInputSk(Math.max(...ofChunk));
    for await (const page of table.pages({ pk: chunkPk(inc, chunk), from: 'I#', to, backwards: true })) {
      // Up to the first piece: a page may end between two, and then the input cannot be decompressed.
      const end = page.findIndex((row) => isFirstPiece(row) && textOf(row, 'sk') <= first);
      rows.push(...(end === -1 ? page : page.slice(0, end + 1)));
      if (end !== -1) break;
    }
    return inputsOf(rows.reverse());
  });
  return new Map(read.flatMap((inputs) => [...inputs]));
}

export async function readOutcomes(table: Table, inc: string, chunk: number): Promise<readonly OutcomeEntry[]> {
  return await outcomesOfRows(table, await table.all({ pk: chunkPk(inc, chunk), begins: 'O#' }));
}

const CHUNKS_AT_ONCE = 8;

/** Rows of inputs and groups for items from `first` on, split at chunks and where they are large. */
export function inputRows(inc: string, first: number, items: readonly NewItem[]): readonly Row[] {
  const rows: Row[] = [];
  for (let at = 0; at < items.length; ) {
    const seq = first + at;
    const group = firstGroup(items, at, CHUNK_ITEMS - (seq % CHUNK_ITEMS));
    const packed = packJson(group.map(packedInput));
    for (const [piece, part] of packed.entries()) {
      const row = { pk: text(chunkPk(inc, chunkOf(seq))), sk: text(inputSk(seq, piece)), packed: bytes(part) };
      rows.push(piece === 0 ? { ...row, ...packedDepths(group) } : row);
    }
    rows.push(...groupRows(inc, seq, group));
    at += group.length;
  }
  return rows;
}

function firstGroup(items: readonly NewItem[], at: number, max: number): readonly NewItem[] {
  const group: NewItem[] = [];
  let size = 0;
  for (const item of items.slice(at, at + max)) {
    size += item.itemId.length + JSON.stringify(item.input).length + sourceSize(item);
    if (group.length > 0 && size > MAX_PACKED_JSON) break;
    group.push(item);
  }
  return group;
}

/** In a re-extraction with many pages, the source is larger than the input. */
function sourceSize({ source }: NewItem): number {
  return source === undefined ? 0 : JSON.stringify(source).length;
}

type PackedInput = readonly [itemId: string, input: NewItem['input'], source?: NewItem['source']];

/** Neighbours of one depth. Submitted items have none, and nothing is written for them. */
type PackedDepth = readonly [count: number, depth: number];

function packedDepths(items: readonly NewItem[]): Row {
  if (items.every(({ depth }) => depth === undefined)) return {};
  const runs: [number, number][] = [];
  for (const { depth = 0 } of items) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === depth) last[0] += 1;
    else runs.push([1, depth]);
  }
  return { depths: json(runs satisfies PackedDepth[]) };
}

/** By the index of an item in its row. */
function depthsOf(row: Row | undefined): readonly Pick<NewItem, 'depth'>[] {
  if (row?.['depths'] === undefined) return [];
  return jsonOf<readonly PackedDepth[]>(row, 'depths').flatMap(([count, depth]) =>
    Array<Pick<NewItem, 'depth'>>(count).fill(depth === 0 ? {} : { depth }),
  );
}

function inputsOf(rows: readonly Row[]): ReadonlyMap<number, NewItem> {
  const inputs = new Map<number, NewItem>();
  const corrected = new Map<number, NewItem>();
  for (const [name, pieces] of piecesByName(rows)) {
    const [first = '', correction] = name.split('#');
    const into = correction === undefined ? inputs : corrected;
    // Only part of its transaction was visible, so the item is not reopened yet.
    if (correction !== undefined && pieces.length < countOf(pieces[0] ?? {}, 'pieces')) continue;
    const packed = unpackJson<readonly PackedInput[]>(pieces.map((row) => bytesOf(row, 'packed')));
    const depths = depthsOf(pieces[0]);
    for (const [index, [itemId, input, source]] of packed.entries()) {
      into.set(Number(first) + index, { itemId, input, ...(source === undefined ? {} : { source }), ...depths[index] });
    }
  }
  for (const [seq, item] of corrected) {
    const { depth } = inputs.get(seq) ?? {};
    if (inputs.has(seq)) inputs.set(seq, depth === undefined ? item : { ...item, depth });
  }
  return inputs;
}

/** The new input of an item, because it was corrected after this attempt. */
export function correctedInputRows(inc: string, seq: number, attempt: number, item: NewItem): readonly Row[] {
  const packed = packJson([packedInput(item)]);
  return packed.map((part, piece) => ({
    pk: text(chunkPk(inc, chunkOf(seq))),
    sk: text(correctedInputSk(seq, attempt, piece)),
    packed: bytes(part),
    pieces: num(packed.length),
  }));
}

function packedInput({ itemId, input, source }: NewItem): PackedInput {
  return source ? [itemId, input, source] : [itemId, input];
}

/** True for items as they were added; the search for an input does not end at a correction. */
function isFirstPiece(row: Row): boolean {
  const [, seq = '', piece] = textOf(row, 'sk').split('#');
  return piece !== undefined && textOf(row, 'sk') === inputSk(Number(seq), 0);
}

/**
 * Rows of inputs by their name: the place of the first item, and for a correction its attempt. Rows come in the order of
 * their keys, and so do the corrections of an item.
 */
function piecesByName(rows: readonly Row[]): ReadonlyMap<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of rows) {
    const sk = textOf(row, 'sk');
    if (!sk.startsWith('I#')) continue;
    const name = sk.slice(2, sk.lastIndexOf('#'));
    const pieces = found.get(name);
    if (pieces === undefined) found.set(name, [row]);
    else pieces.push(row);
  }
  return found;
}

/** The facts about one item, from all rows of its chunk. */
interface Facts {
  readonly entries: OutcomeEntry[];
  reopenedAfter: number;
  deliveries: number;
  /** Its strikes at that delivery. */
  strikes: number;
  batch: Batch | null;
}

function itemsOfRows(job: JobRows, rows: readonly Row[], outcomes: readonly OutcomeEntry[]): readonly ChunkItem[] {
  const { record: jobRecord } = job;
  const inputs = inputsOf(rows);
  const groups = groupsOfRows(rows);
  const facts = new Map<number, Facts>();
  const factsOf = (seq: number): Facts => {
    const known = facts.get(seq) ?? { entries: [], reopenedAfter: 0, deliveries: 0, strikes: 0, batch: null };
    facts.set(seq, known);
    return known;
  };
  const noteDelivery = (seq: number, deliveries: number, strikes: number) => {
    const known = factsOf(seq);
    if (deliveries < known.deliveries) return;
    known.strikes = deliveries === known.deliveries ? Math.max(known.strikes, strikes) : strikes;
    known.deliveries = deliveries;
  };
  for (const entry of outcomes) {
    factsOf(entry.seq).entries.push(entry);
    noteDelivery(entry.seq, entry.attempt, entry.strikes ?? 0);
  }
  for (const row of rows) {
    const kind = textOf(row, 'sk').slice(0, 2);
    if (kind === 'M#' || (kind === 'O#' && row['items'] !== undefined))
      for (const [seq, deliveries, strikes] of marksOf<[number, number, number]>(row))
        noteDelivery(seq, deliveries, strikes);
    if (kind === 'R#')
      for (const [seq, attempt] of marksOf<[number, number]>(row)) {
        const known = factsOf(seq);
        known.reopenedAfter = Math.max(known.reopenedAfter, attempt);
      }
    if (kind === 'B#') noteBatch(batchOfRow(row), factsOf, noteDelivery);
  }
  return [...inputs]
    .filter(([seq]) => seq < jobRecord.counts.total)
    .sort(([a], [b]) => a - b)
    .map(([seq, item]) => {
      const group = groups.get(seq);
      return chunkItem(job, seq, group === undefined ? item : { ...item, group }, facts.get(seq));
    });
}

function marksOf<T>(row: Row): readonly T[] {
  return jsonOf<readonly T[]>(row, 'items');
}

function noteBatch(
  batch: Batch,
  factsOf: (seq: number) => Facts,
  noteDelivery: (seq: number, deliveries: number, strikes: number) => void,
): void {
  for (const item of batch.unsettled) {
    factsOf(item.seq).batch = batch;
    noteDelivery(item.seq, deliveriesOf(batch, item), item.strikes);
  }
}

function chunkItem({ record: job }: JobRows, seq: number, item: NewItem, facts: Facts | undefined): ChunkItem {
  const entries = [...(facts?.entries ?? [])].sort((a, b) => a.attempt - b.attempt);
  const last = entries.at(-1) ?? null;
  const isFinal = last !== null && last.attempt > (facts?.reopenedAfter ?? 0);
  // Strikes from before the item was reopened no longer count; the mark of its delivery is that of the reopened
  // attempt.
  const isReopened = (facts?.reopenedAfter ?? 0) > 0 && (facts?.deliveries ?? 0) <= (facts?.reopenedAfter ?? 0);
  const status: ItemStatus = isFinal ? last.end : statusIn(facts?.batch ?? null, seq, job.status === 'cancelled');
  const record: ItemRecord = {
    jobId: job.jobId,
    seq,
    ...item,
    status,
    strikes: isReopened ? 0 : (facts?.strikes ?? 0),
    deliveries: facts?.deliveries ?? 0,
    attempts: listedAttempts(entries).map(attemptOf),
    artifacts: isFinal ? (last.artifacts ?? []) : [],
  };
  return { record, last: isFinal ? last : null };
}

/** The status of an item that has not ended. */
function statusIn(batch: Batch | null, seq: number, isJobCancelled: boolean): ItemStatus {
  const place = batch === null ? 'waiting' : placeInBatch(batch.unsettled[0]?.seq === seq, batch.hold !== null);
  return openStatus(place, isJobCancelled);
}
