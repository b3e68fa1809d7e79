import type { UrlFormat } from '../../contract/bulk-request.ts';
import type { FieldError } from '../../contract/problem.ts';
import { isRecord } from '../../domain/is-record.ts';
import { UnreadableItems } from './csv-columns.ts';
import { parseJsonBytes } from './parse-json-bytes.ts';
import { readItems } from './read-items.ts';
import { type JsonPart, JsonSplitter } from './split-json.ts';
import { type RawRecord, RecordSplitter } from './split-records.ts';

/** An entry of a list of URLs: the URL, or what is wrong with the entry. */
export type UrlEntry = { readonly url: string } | { readonly problem: FieldError };

const utf8 = new TextDecoder();

/**
 * Reads the URLs of a list, any number of them, with one piece of it in memory. Throws UnreadableItems if the bytes are
 * not such a list.
 */
export async function* readUrls(
  bytes: AsyncIterable<Uint8Array>,
  format: UrlFormat,
): AsyncGenerator<readonly UrlEntry[]> {
  switch (format) {
    case 'lines':
      yield* inRecords(bytes, ({ bytes: line }) => lineEntry(utf8.decode(line)));
      return;
    case 'jsonl':
      yield* inRecords(bytes, ({ bytes: line, line: number }) => [jsonEntry(line, `line ${number}`)]);
      return;
    case 'csv':
      yield* readCsv(bytes);
      return;
    case 'json':
      yield* readList(bytes);
  }
}

/** Empty lines and comments are skipped. */
function lineEntry(line: string): UrlEntry[] {
  const url = line.trim();
  return url === '' || url.startsWith('#') ? [] : [{ url }];
}

/** A URL in quotes, or an object that has one. */
export function jsonEntry(bytes: Uint8Array, path: string): UrlEntry {
  const parsed = parseJsonBytes(bytes);
  if ('problem' in parsed) return { problem: { path, message: parsed.problem } };
  const { value } = parsed;
  const url = isRecord(value) ? value['url'] : value;
  return typeof url === 'string'
    ? { url: url.trim() }
    : { problem: { path, message: 'must be a URL in quotes, or an object with a url' } };
}

async function* inRecords(
  bytes: AsyncIterable<Uint8Array>,
  read: (record: RawRecord & { kind: 'record' }) => readonly UrlEntry[],
): AsyncGenerator<readonly UrlEntry[]> {
  const splitter = new RecordSplitter(null);
  const entryOf = (record: RawRecord): readonly UrlEntry[] =>
    record.kind === 'record' ? read(record) : [{ problem: { path: `line ${record.line}`, message: 'is too long' } }];
  for await (const piece of bytes) yield splitter.push(piece).flatMap(entryOf);
  const last = splitter.last();
  if (last !== null) yield entryOf(last);
}

async function* readCsv(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly UrlEntry[]> {
  for await (const { items, bad } of readItems(bytes, 'csv')) {
    const entries = items.map(({ item, line }): UrlEntry => {
      const url = item.input['url'] ?? item.input['URL'];
      if (typeof url !== 'string') throw new UnreadableItems('it has no column url');
      return url.trim() === '' ? { problem: { path: `line ${line}`, message: 'has no URL' } } : { url: url.trim() };
    });
    yield [...entries, ...bad.map(({ line, problem }) => ({ problem: { path: `line ${line}`, message: problem } }))];
  }
}

async function* readList(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly UrlEntry[]> {
  const splitter = new JsonSplitter('list');
  const entryOf = (part: Exclude<JsonPart, { kind: 'field' }>): UrlEntry => {
    if (part.kind === 'entry') return jsonEntry(part.bytes, `urls.${part.index}`);
    if (part.kind === 'too-long') return { problem: { path: `urls.${part.index}`, message: 'is too long' } };
    throw new UnreadableItems(`${part.problem} (byte ${part.at})`);
  };
  for await (const piece of bytes) {
    yield splitter
      .push(piece)
      .filter((part) => part.kind !== 'field')
      .map(entryOf);
  }
  const last = splitter.last();
  if (last !== null) entryOf(last);
}
