import type { ItemInput, NewItem } from '../domain/item.ts';
import { delimiterOf, fieldsOf } from './csv-records.ts';
import { MAX_RECORD_BYTES, type RawRecord, RecordSplitter } from './split-records.ts';
import { derivedItemId } from './submit.ts';

/**
 * Items out of a file or the body of a request, whatever their number, in memory for one chunk. A line that cannot be
 * read is named and passed over; only what makes the whole of it senseless (no header, not UTF-8 …) is thrown, as
 * UnreadableItems.
 *
 *   csv    a header row; columns become the input, as texts; the column `item_id` is the id
 *   jsonl  an object per line: `{"item_id": "a", "input": {…}}`, or the input itself
 *   json   an array of such objects; they are read whole, so it has a limit
 */
export const ITEM_FORMATS = ['csv', 'jsonl', 'json'] as const;
export type ItemFormat = (typeof ITEM_FORMATS)[number];

export interface ItemChunk {
  readonly items: readonly ReadItem[];
  readonly bad: readonly BadLine[];
}

export interface ReadItem {
  readonly item: NewItem;
  /** From 1; in a JSON array the number of the entry. */
  readonly line: number;
}

export interface BadLine {
  readonly line: number;
  readonly problem: string;
}

export class UnreadableItems extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableItems';
  }
}

export const MAX_JSON_BYTES = 64 * 2 ** 20;
const MAX_ID_LENGTH = 1000;
const MAX_COLUMNS = 1000;
const ITEMS_PER_CHUNK = 1000;
/** A chunk is one transaction, and is held in memory. */
const BYTES_PER_CHUNK = 4 * 2 ** 20;
const HEAD_BYTES = 64 * 1024;

/** By the end of a file's name; null if that says nothing. */
export function formatOfName(name: string): ItemFormat | null {
  const extension = name.toLowerCase().split('.').at(-1);
  switch (extension) {
    case 'csv':
    case 'tsv':
      return 'csv';
    case 'jsonl':
    case 'ndjson':
      return 'jsonl';
    case 'json':
      return 'json';
    default:
      return null;
  }
}

/** Chunks of at most a thousand items and a few megabytes. Without a format, the first bytes tell it. */
export async function* readItems(
  bytes: AsyncIterable<Uint8Array>,
  format: ItemFormat | null,
): AsyncGenerator<ItemChunk> {
  const source = bytes[Symbol.asyncIterator]();
  try {
    const head = await readHead(source);
    if (head.bytes.length === 0) return;
    const pieces = continued(head, source);
    switch (format ?? formatOfBytes(head.bytes)) {
      case 'csv':
        yield* chunked(readCsv(pieces, delimiterOf(head.bytes)));
        return;
      case 'jsonl':
        yield* chunked(readJsonLines(pieces));
        return;
      case 'json':
        yield* chunked(readJson(pieces));
    }
  } finally {
    await source.return?.();
  }
}

type Read = (ReadItem & { readonly size: number }) | BadLine;

async function* chunked(reads: AsyncIterable<readonly Read[]>): AsyncGenerator<ItemChunk> {
  let items: ReadItem[] = [];
  let bad: BadLine[] = [];
  let size = 0;
  for await (const some of reads) {
    for (const read of some) {
      if ('problem' in read) bad.push(read);
      else {
        items.push({ item: read.item, line: read.line });
        size += read.size;
      }
      if (items.length + bad.length < ITEMS_PER_CHUNK && size < BYTES_PER_CHUNK) continue;
      yield { items, bad };
      items = [];
      bad = [];
      size = 0;
    }
  }
  if (items.length + bad.length > 0) yield { items, bad };
}

async function* readCsv(pieces: AsyncIterable<Uint8Array>, delimiter: string): AsyncGenerator<readonly Read[]> {
  let columns: readonly string[] | null = null;
  for await (const records of split(pieces, new RecordSplitter(delimiter.charCodeAt(0)))) {
    const whole = records.filter((record) => record.kind === 'record');
    const fields = fieldsOf(
      whole.map((record) => record.bytes),
      delimiter,
    );
    const reads: Read[] = records.filter((record) => record.kind !== 'record').map(badRecord);
    for (const [index, { line, bytes }] of whole.entries()) {
      const values = fields[index] ?? null;
      if (columns === null) columns = columnsOf(values);
      else
        reads.push(
          values === null ? { line, problem: 'it cannot be read as CSV' } : row(values, columns, line, bytes.length),
        );
    }
    yield reads;
  }
}

function row(values: readonly string[], columns: readonly string[], line: number, size: number): Read {
  if (values.length !== columns.length) {
    return { line, problem: `it has ${values.length} fields, and the header ${columns.length}` };
  }
  if (values.some((value) => value.includes(REPLACED))) return { line, problem: NOT_UTF8 };
  // Not by assignment: a column may be called __proto__.
  return itemOf(Object.fromEntries(columns.map((column, at) => [column, values[at] ?? ''])), line, size);
}

function columnsOf(header: readonly string[] | null): readonly string[] {
  const columns = header?.map((name) => name.trim()) ?? [];
  const nameless = columns.indexOf('');
  const twice = columns.find((name, at) => columns.indexOf(name) !== at);
  if (columns.length > MAX_COLUMNS) throw new UnreadableItems(`the header has ${columns.length} columns`);
  if (columns.some((name) => name.includes(REPLACED))) throw new UnreadableItems(`the header ${NOT_UTF8}`);
  if (nameless >= 0) throw new UnreadableItems(`column ${nameless + 1} of the header has no name`);
  if (twice !== undefined) throw new UnreadableItems(`two columns of the header have the name ${twice}`);
  return columns;
}

async function* readJsonLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Read[]> {
  for await (const records of split(pieces, new RecordSplitter(null))) {
    yield records.map((record) => {
      if (record.kind !== 'record') return badRecord(record);
      const { line, bytes } = record;
      const value = jsonOf(bytes);
      return 'problem' in value ? { line, problem: value.problem } : itemOf(value.value, line, bytes.length);
    });
  }
}

async function* readJson(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Read[]> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > MAX_JSON_BYTES) {
      throw new UnreadableItems(
        `a JSON array is read whole, and has ${MAX_JSON_BYTES / 2 ** 20} MiB at the most: use JSONL, an object per line`,
      );
    }
    parts.push(piece);
  }
  const value = jsonOf(Buffer.concat(parts));
  if ('problem' in value) throw new UnreadableItems(value.problem);
  if (!Array.isArray(value.value)) {
    throw new UnreadableItems('a JSON file of items is an array [ … ]; an object per line is JSONL (.jsonl)');
  }
  const entries: readonly unknown[] = value.value;
  const each = Math.ceil(size / Math.max(1, entries.length));
  yield entries.map((entry, index) => itemOf(entry, index + 1, each));
}

/** Records with something in them. */
async function* split(pieces: AsyncIterable<Uint8Array>, splitter: RecordSplitter): AsyncGenerator<RawRecord[]> {
  for await (const piece of pieces) yield splitter.push(piece).filter(isNotBlank);
  const last = splitter.last();
  if (last !== null && isNotBlank(last)) yield [last];
}

function isNotBlank(record: RawRecord): boolean {
  return record.kind !== 'record' || record.bytes.some((byte) => byte !== 0x20 && byte !== 0x0d && byte !== 0x09);
}

function badRecord(record: Exclude<RawRecord, { kind: 'record' }> | RawRecord): BadLine {
  const { line } = record;
  return record.kind === 'open-quote'
    ? { line, problem: `a quote is opened and not closed: lines ${line} to ${record.lastLine} are lost in it` }
    : { line, problem: `it is longer than ${MAX_RECORD_BYTES / 2 ** 20} MiB${lostIn(record)}` };
}

/** A quote that is not closed takes lines along until the record is too long. */
function lostIn(record: RawRecord): string {
  if (record.kind !== 'too-long' || record.lastLine === record.line) return '';
  return `: a quote is not closed, and lines ${record.line} to ${record.lastLine} are lost in it`;
}

function itemOf(value: unknown, line: number, size: number): Read {
  if (!isRecord(value)) return { line, problem: 'it is no object' };
  const isWrapped = isRecord(value['input']) && Object.keys(value).every((key) => key === 'input' || key === 'item_id');
  const { item_id: given, ...rest } = value;
  const input: ItemInput = isWrapped && isRecord(value['input']) ? value['input'] : rest;
  if (Object.keys(input).length === 0 && !isWrapped) return { line, problem: 'it has no input' };
  const isGiven = given !== undefined && given !== null && given !== '';
  if (isGiven && typeof given !== 'string' && !Number.isSafeInteger(given)) {
    return { line, problem: 'its item_id is neither a text nor a whole number' };
  }
  const itemId = isGiven ? String(given) : derivedItemId(input);
  if (itemId.length <= MAX_ID_LENGTH && itemId !== '') return { item: { itemId, input }, line, size };
  return {
    line,
    problem: isGiven
      ? `its item_id is longer than ${MAX_ID_LENGTH} characters`
      : `it needs an item_id: its input makes none of 1 to ${MAX_ID_LENGTH} characters`,
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a decoder puts in the place of bytes that are no UTF-8. */
const REPLACED = '\uFFFD';
const NOT_UTF8 = 'is not UTF-8: save the file in that encoding';

function jsonOf(bytes: Uint8Array): { readonly value: unknown } | { readonly problem: string } {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { problem: `it ${NOT_UTF8}` };
  }
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: `it is no JSON (${error instanceof Error ? error.message : String(error)})` };
  }
}

function formatOfBytes(head: Uint8Array): ItemFormat {
  const first = head.find((byte) => byte > 0x20);
  if (first === 0x5b) return 'json';
  return first === 0x7b ? 'jsonl' : 'csv';
}

/** As much as tells the format and the header, without the byte order mark; empty if there is nothing. */
async function readHead(source: AsyncIterator<Uint8Array>): Promise<{ bytes: Uint8Array; isEnd: boolean }> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  let isEnd = false;
  while (size < HEAD_BYTES && !isEnd) {
    const next = await source.next();
    isEnd = next.done === true;
    if (next.done === true) break;
    pieces.push(next.value);
    size += next.value.length;
  }
  const head = Buffer.concat(pieces);
  const mark = head.subarray(0, 2).toString('hex');
  if (mark === 'fffe' || mark === 'feff') throw new UnreadableItems(`it is UTF-16: save the file as UTF-8`);
  return { bytes: head.subarray(0, 3).toString('hex') === 'efbbbf' ? head.subarray(3) : head, isEnd };
}

async function* continued(
  head: { readonly bytes: Uint8Array; readonly isEnd: boolean },
  source: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield head.bytes;
  if (head.isEnd) return;
  for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
}
