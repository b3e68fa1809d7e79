/**
 * The formats in which items are uploaded.
 *
 *   csv    a header row; columns become the input, as strings; the column `item_id` is the id
 *   jsonl  one object per line: `{"item_id": "a", "input": {…}, "group": "g"}`, or the input itself
 *   json   an array of such objects
 */

export type ItemFormat = 'csv' | 'jsonl' | 'json';

/** The content type that clients send and the documentation shows. */
export const ITEM_CONTENT_TYPES = {
  csv: 'text/csv',
  jsonl: 'application/x-ndjson',
  json: 'application/json',
} as const satisfies Record<ItemFormat, string>;

const BY_CONTENT_TYPE: Readonly<Record<string, ItemFormat>> = {
  'application/x-ndjson': 'jsonl',
  'application/ndjson': 'jsonl',
  'application/jsonl': 'jsonl',
  'text/csv': 'csv',
  'application/json': 'json',
};

const BY_EXTENSION: Readonly<Record<string, ItemFormat>> = {
  csv: 'csv',
  tsv: 'csv',
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  json: 'json',
};

/** Null for a content type in which items are not accepted. `mediaType` has no parameters and is in lower case. */
export function formatOfMediaType(mediaType: string): ItemFormat | null {
  return Object.hasOwn(BY_CONTENT_TYPE, mediaType) ? (BY_CONTENT_TYPE[mediaType] ?? null) : null;
}

/** From the extension of a file name; null if that does not identify the format. */
export function formatOfName(name: string): ItemFormat | null {
  const extension = name.toLowerCase().split('.').at(-1) ?? '';
  return Object.hasOwn(BY_EXTENSION, extension) ? (BY_EXTENSION[extension] ?? null) : null;
}

/** From the first non-blank byte. */
export function formatOfBytes(head: Uint8Array): ItemFormat {
  const first = head.find((byte) => byte > 0x20);
  if (first === 0x5b) return 'json';
  return first === 0x7b ? 'jsonl' : 'csv';
}
