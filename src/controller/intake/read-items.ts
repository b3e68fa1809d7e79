import type { BadLineCode } from '../../contract/item-answers.ts';
import { formatOfBytes, type ItemFormat } from '../../contract/item-formats.ts';
import type { NewItem } from '../../domain/item.ts';
import { itemOfEntry } from '../../domain/item-entry.ts';
import { COLUMNS_AS_FIELDS, type ColumnPlan, type ColumnRules, planColumns, UnreadableItems } from './csv-columns.ts';
import { detectDelimiter, fieldsOf } from './csv-records.ts';
import { inPieces } from './in-pieces.ts';
import { NOT_UTF8, parseJsonBytes } from './parse-json-bytes.ts';
import { type JsonPart, JsonSplitter } from './split-json.ts';
import { MAX_RECORD_BYTES, type RawRecord, RecordSplitter } from './split-records.ts';

/**
 * Reads items from a file or the body of a request, any number of them, with one chunk in memory. A line that cannot be
 * read is reported and skipped; only what makes the whole list unreadable (no header, not UTF-8 …) is thrown, as
 * UnreadableItems.
 */

export interface ItemChunk {
  readonly items: readonly ReadItem[];
  readonly bad: readonly BadLine[];
  /** Columns of a CSV that are not used, in the first chunk only. */
  readonly ignoredColumns: readonly string[];
}

export interface ReadItem {
  readonly item: NewItem;
  /** 1-based; in a JSON array the number of the entry. */
  readonly line: number;
}

export interface BadLine {
  readonly line: number;
  /** Defaults to `unreadable`: only this line is affected. */
  readonly code?: BadLineCode;
  readonly problem: string;
}

/** Reading or committing this many took two to five milliseconds in most measurements. */
const ITEMS_PER_CHUNK = 1000;
/** A chunk is one transaction, and is held in memory. */
const BYTES_PER_CHUNK = 2 ** 20;
const HEAD_BYTES = 64 * 1024;

/**
 * Chunks of at most a thousand items and a megabyte or two. Without a format, the first bytes decide. A slow sender's
 * items are handed over before a chunk is full when `isDue` says so; it is called as bytes arrive.
 */
export async function* readItems(
  bytes: AsyncIterable<Uint8Array>,
  format: ItemFormat | null,
  isDue: () => boolean = () => false,
  columns: ColumnRules = COLUMNS_AS_FIELDS,
): AsyncGenerator<ItemChunk> {
  const source = bytes[Symbol.asyncIterator]();
  try {
    const head = await readHead(source, format);
    if (head.bytes.length === 0) return;
    const pieces = inPieces(head.bytes, source);
    switch (format ?? formatOfBytes(head.bytes)) {
      case 'csv':
        yield* chunked(readCsv(pieces, detectDelimiter(head.bytes), columns), isDue);
        return;
      case 'jsonl':
        yield* chunked(readJsonLines(pieces), isDue);
        return;
      case 'json':
        yield* chunked(readJson(pieces, head.skipped), isDue);
    }
  } finally {
    await source.return?.();
  }
}

type Read = (ReadItem & { readonly size: number }) | BadLine | { readonly ignoredColumns: readonly string[] };

async function* chunked(reads: AsyncIterable<readonly Read[]>, isDue: () => boolean): AsyncGenerator<ItemChunk> {
  let items: ReadItem[] = [];
  let bad: BadLine[] = [];
  let ignoredColumns: readonly string[] = [];
  let size = 0;
  const handOver = (): ItemChunk => {
    const chunk = { items, bad, ignoredColumns };
    items = [];
    bad = [];
    ignoredColumns = [];
    size = 0;
    return chunk;
  };
  for await (const some of reads) {
    for (const read of some) {
      if ('ignoredColumns' in read) ignoredColumns = read.ignoredColumns;
      else if ('problem' in read) bad.push(read);
      else {
        items.push(read);
        size += read.size;
      }
      if (items.length + bad.length >= ITEMS_PER_CHUNK || size >= BYTES_PER_CHUNK) yield handOver();
    }
    if (items.length + bad.length > 0 && isDue()) yield handOver();
  }
  if (items.length + bad.length > 0) yield handOver();
}

async function* readCsv(
  pieces: AsyncIterable<Uint8Array>,
  delimiter: string,
  rules: ColumnRules,
): AsyncGenerator<readonly Read[]> {
  let plan: ColumnPlan | null = null;
  for await (const records of split(pieces, new RecordSplitter(delimiter.charCodeAt(0)))) {
    const whole = records.filter((record) => record.kind === 'record');
    const fields = fieldsOf(
      whole.map((record) => record.bytes),
      delimiter,
    );
    const reads: Read[] = records.filter((record) => record.kind !== 'record').map(badRecord);
    for (const [index, { line, bytes }] of whole.entries()) {
      const values = fields[index] ?? null;
      if (plan === null) {
        plan = readHeader(values, rules);
        reads.push({ ignoredColumns: plan.ignored });
      } else if (values === null) reads.push({ line, problem: 'it cannot be read as CSV' });
      else reads.push(readRow(values, plan, line, bytes.length));
    }
    yield reads;
  }
}

function readRow(values: readonly string[], { width, fields }: ColumnPlan, line: number, size: number): Read {
  if (values.length !== width) return { line, problem: `it has ${values.length} fields, and the header ${width}` };
  const entries = fields.map(({ field, at }) => [field, values[at] ?? ''] as const);
  if (entries.some(([, value]) => value.includes(REPLACED))) return { line, problem: NOT_UTF8 };
  // Not by assignment, because a column may be called __proto__.
  return readOf(Object.fromEntries(entries), line, size);
}

function readHeader(header: readonly string[] | null, rules: ColumnRules): ColumnPlan {
  if (header?.some((name) => name.includes(REPLACED))) throw new UnreadableItems(`the header ${NOT_UTF8}`);
  return planColumns(header ?? [], rules);
}

async function* readJsonLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Read[]> {
  for await (const records of split(pieces, new RecordSplitter(null))) {
    yield records.map((record) =>
      record.kind === 'record' ? readValue(record.bytes, record.line) : badRecord(record),
    );
  }
}

async function* readJson(pieces: AsyncIterable<Uint8Array>, skipped: number): AsyncGenerator<readonly Read[]> {
  const splitter = new JsonSplitter('list', { before: skipped });
  for await (const piece of pieces) {
    const parts = splitter.push(piece);
    if (splitter.isOther) break;
    yield parts.filter((part) => part.kind !== 'field').map(readEntry);
    if (splitter.isBroken) break;
  }
  const last = splitter.last();
  if (splitter.isOther) {
    throw new UnreadableItems('a JSON file of items is an array [ … ]; an object per line is JSONL (.jsonl)');
  }
  if (last !== null) yield [readEntry(last)];
}

function readEntry(part: Exclude<JsonPart, { kind: 'field' }>): Read {
  const line = part.index + 1;
  if (part.kind === 'entry') return readValue(part.bytes, line);
  if (part.kind === 'too-long') return { line, problem: TOO_LONG };
  return { line, code: 'rest_unread', problem: `${part.problem} (byte ${part.at}): nothing from there on was read` };
}

function readValue(bytes: Uint8Array, line: number): Read {
  const parsed = parseJsonBytes(bytes);
  return 'problem' in parsed ? { line, problem: parsed.problem } : readOf(parsed.value, line, bytes.length);
}

function readOf(value: unknown, line: number, size: number): Read {
  const found = itemOfEntry(value);
  return 'problem' in found ? { line, problem: found.problem } : { item: found.item, line, size };
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

const TOO_LONG = `it is longer than ${MAX_RECORD_BYTES / 2 ** 20} MiB`;

function badRecord(record: Exclude<RawRecord, { kind: 'record' }> | RawRecord): BadLine {
  const { line } = record;
  const lost = lostIn(record);
  if (record.kind === 'open-quote') {
    const problem = `a quote is opened and not closed: lines ${line} to ${record.lastLine} are lost in it`;
    return { line, code: 'lines_lost', problem };
  }
  return { line, ...(lost === '' ? {} : { code: 'lines_lost' }), problem: `${TOO_LONG}${lost}` };
}

/** An unclosed quote swallows lines until the record is too long. */
function lostIn(record: RawRecord): string {
  if (record.kind !== 'too-long' || record.lastLine === record.line) return '';
  return `: a quote is not closed, and lines ${record.line} to ${record.lastLine} are lost in it`;
}

/** What a decoder inserts for invalid UTF-8. */
const REPLACED = '\uFFFD';

interface Head {
  readonly bytes: Uint8Array;
  /** Bytes of a preceding byte order mark. */
  readonly skipped: number;
}

/** Enough to recognise the format and the header, without the byte order mark; empty if there is nothing. */
async function readHead(source: AsyncIterator<Uint8Array>, format: ItemFormat | null): Promise<Head> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  let isEnough = false;
  while (size < HEAD_BYTES && !isEnough) {
    const next = await source.next();
    if (next.done === true) break;
    pieces.push(next.value);
    size += next.value.length;
    // A slow sender need not wait until all the bytes that would be examined have arrived.
    isEnough = size >= MARK_BYTES && (format === 'jsonl' || format === 'json' || endsLine(next.value));
  }
  const head = Buffer.concat(pieces);
  const mark = head.subarray(0, 2).toString('hex');
  if (mark === 'fffe' || mark === 'feff') throw new UnreadableItems(`it is UTF-16: save the file as UTF-8`);
  const skipped = head.subarray(0, MARK_BYTES).toString('hex') === 'efbbbf' ? MARK_BYTES : 0;
  return { bytes: head.subarray(skipped), skipped };
}

const MARK_BYTES = 3;

/** Whether it ends a line that is not blank. */
function endsLine(piece: Uint8Array): boolean {
  return piece.includes(0x0a) && piece.some((byte) => byte > 0x20);
}
