import {
  type NewRun,
  newRunItem,
  type RunCounts,
  type RunEnd,
  type RunItem,
  type RunRecord,
} from '../../../domain/scrape-run.ts';
import { bytes, bytesOf, countOf, json, jsonOf, num, numOf, type Row, text, textOf } from '../dynamo/attributes.ts';
import { packJson, unpackJson } from '../dynamo/packing.ts';
import { placeIn, runItemsPk, runKey, statesSk, urlKey, urlsSk } from './run-keys.ts';

/** A run as it is stored: its record, and what changes of it depend on. */
export interface StoredRun {
  readonly run: RunRecord;
  readonly version: number;
  readonly chunks: number;
}

/** What is written once, or seldom, as one document. */
interface RunDocument extends NewRun {
  readonly createdAt: number;
}

interface Ending {
  readonly status: RunEnd;
  readonly endedAt: number;
}

/** Of a run that has not ended. */
export const OPEN = json(null);

export function documentOf({ domain, source, startedAt, metadata, createdAt }: RunDocument) {
  return json({ domain, source, startedAt, metadata, createdAt } satisfies RunDocument);
}

export function endingOf({ status, endedAt }: RunRecord) {
  return endedAt === null ? OPEN : json({ status: status as RunEnd, endedAt } satisfies Ending);
}

export function newRunRow(id: string, run: NewRun, now: number, { total, chunks }: { total: number; chunks: number }) {
  const key = runKey(id);
  if (key === null) throw new Error(`a run cannot have the id ${id}`);
  const row: Row = {
    pk: text(key.pk),
    sk: text(key.sk),
    document: documentOf({ ...run, createdAt: now }),
    ending: OPEN,
    begun: { BOOL: false },
    updatedAt: num(now),
    version: num(0),
    total: num(total),
    chunks: num(chunks),
  };
  return row;
}

export function storedRunOf(row: Row): StoredRun {
  const { domain, source, startedAt, metadata, createdAt } = jsonOf<RunDocument>(row, 'document');
  const ending = jsonOf<Ending | null>(row, 'ending');
  const counts: RunCounts = {
    total: countOf(row, 'total'),
    completed: countOf(row, 'completed'),
    failed: countOf(row, 'failed'),
    invalid: countOf(row, 'invalid'),
  };
  const run: RunRecord = {
    id: textOf(row, 'sk'),
    domain,
    source,
    startedAt,
    metadata,
    status: ending?.status ?? (row['begun']?.BOOL === true ? 'processing' : 'pending'),
    endedAt: ending?.endedAt ?? null,
    createdAt,
    updatedAt: numOf(row, 'updatedAt'),
    counts,
  };
  return { run, version: numOf(row, 'version'), chunks: numOf(row, 'chunks') };
}

/** What is known of the items of a chunk, in order; their URLs are in another row, which never changes. */
export type ItemStates = readonly Omit<RunItem, 'url'>[];

const DONE = 1;
const FAILED = 2;
const INVALID = 4;

/** A digit per item, and the reasons of those that have one. With ninety long reasons it has less than 300 KB. */
export function stateAttributes(states: ItemStates): Row {
  const flags = states.map(
    ({ done, failed, invalid }) => (done ? DONE : 0) | (failed ? FAILED : 0) | (invalid ? INVALID : 0),
  );
  const reasons = Object.fromEntries(
    states.flatMap(({ failedReason }, index) => (failedReason === null ? [] : [[index, failedReason]])),
  );
  return { flags: text(flags.join('')), reasons: bytes(onlyPiece(packJson(reasons))) };
}

export function statesOf(row: Row): ItemStates {
  const reasons = unpackJson<Readonly<Record<string, string>>>([bytesOf(row, 'reasons')]);
  return [...textOf(row, 'flags')].map((digit, index) => {
    const flags = Number(digit);
    return {
      done: (flags & DONE) !== 0,
      failed: (flags & FAILED) !== 0,
      invalid: (flags & INVALID) !== 0,
      failedReason: reasons[index] ?? null,
    };
  });
}

export function urlsOf(row: Row): readonly string[] {
  return unpackJson<readonly string[]>([bytesOf(row, 'urls')]);
}

/** The rows of items that are added together. Those of the URLs come last: a removal finds them by the others. */
export function chunkRows(inc: string, chunk: number, urls: readonly string[], mark: string) {
  const pk = text(runItemsPk(inc));
  const states = urls.map((url) => newRunItem(url));
  return {
    items: [
      { pk, sk: text(urlsSk(chunk)), urls: bytes(onlyPiece(packJson(urls))) },
      { pk, sk: text(statesSk(chunk)), mark: text(mark), ...stateAttributes(states) },
    ] satisfies Row[],
    urls: urls.map((url, index): Row => {
      const key = urlKey(inc, url);
      return { pk: text(key.pk), sk: text(key.sk), place: num(placeIn(chunk, index)) };
    }),
  };
}

/** With the rows of URLs, of the chunk and of the run, within the hundred actions of a transaction. */
const CHUNK_ITEMS = 90;
/** Compressed or not, it fits into one row. */
const CHUNK_BYTES = 300_000;

export function* cutIntoChunks(urls: readonly string[]): Generator<readonly string[]> {
  let chunk: string[] = [];
  let size = 0;
  for (const url of urls) {
    const length = Buffer.byteLength(JSON.stringify(url)) + 1;
    if (chunk.length === CHUNK_ITEMS || (chunk.length > 0 && size + length > CHUNK_BYTES)) {
      yield chunk;
      chunk = [];
      size = 0;
    }
    chunk.push(url);
    size += length;
  }
  if (chunk.length > 0) yield chunk;
}

function onlyPiece(pieces: readonly Uint8Array[]): Uint8Array {
  const [only, ...others] = pieces;
  if (only === undefined || others.length > 0) throw new Error('the items of a run do not fit into one row');
  return only;
}
