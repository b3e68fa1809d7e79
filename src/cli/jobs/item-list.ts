import { createReadStream, type Stats, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { ConfigError } from '../../config.ts';
import { formatOfName, ITEM_CONTENT_TYPES } from '../../contract/item-formats.ts';

/** A list of items as bytes; only the API parses them. */
export interface ItemList {
  /** For messages. */
  readonly name: string;
  /** Null if only the first bytes show it. */
  readonly contentType: string | null;
  readonly size: number | null;
  open(): Readable;
}

export interface ItemListOptions {
  readonly items?: string;
  readonly input?: readonly string[];
}

/** Larger than the default of a stream, because each piece is one write to the connection. */
export const PIECE_BYTES = 256 * 1024;

/**
 * The items that the user gave; null if there are none. Throws if there are two sources, or the file does not exist.
 */
export function itemList({ items, input }: ItemListOptions): ItemList | null {
  if (items !== undefined && input !== undefined) throw new ConfigError('--items and --input: give one of them');
  if (input !== undefined) {
    const bytes = Buffer.from(JSON.stringify([parseInput(input)]));
    const open = () => Readable.from([bytes]);
    return { name: '--input', contentType: ITEM_CONTENT_TYPES.json, size: bytes.length, open };
  }
  if (items === undefined) return null;
  if (items === '-') return { name: 'stdin', contentType: null, size: null, open: () => process.stdin };
  const format = formatOfName(items);
  const file = fileAt(items);
  return {
    name: items,
    contentType: format === null ? null : ITEM_CONTENT_TYPES[format],
    // A named pipe has no size.
    size: file.isFile() ? file.size : null,
    open: () => createReadStream(items, { highWaterMark: PIECE_BYTES }),
  };
}

/** `apn=200-14-030` is a string, like a CSV cell; `year:=2025` is JSON. */
export function parseInput(pairs: readonly string[]): Record<string, unknown> {
  const entries = pairs.map((pair): [string, unknown] => {
    const match = /^([^=]+?)(:?=)(.*)$/s.exec(pair);
    const [, name = '', sign, value = ''] = match ?? [];
    if (name === '') throw new ConfigError(`--input ${pair}: write it as name=value`);
    if (sign === '=') return [name, value];
    try {
      return [name, JSON.parse(value)];
    } catch {
      throw new ConfigError(`--input ${pair}: what follows := must be JSON, such as 5, true or "text"`);
    }
  });
  const names = entries.map(([name]) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new ConfigError(`--input: ${twice} is given twice`);
  return Object.fromEntries(entries);
}

/** Checked before anything is created for the list. */
function fileAt(path: string): Stats {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new ConfigError(`--items: no such file: ${path}`);
  if (found.isDirectory()) throw new ConfigError(`--items: ${path} is a folder`);
  return found;
}
