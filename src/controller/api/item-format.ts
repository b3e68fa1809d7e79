import type { ItemFormat } from '../intake/read-items.ts';

const FORMATS: Readonly<Record<string, ItemFormat>> = {
  'application/x-ndjson': 'jsonl',
  'application/ndjson': 'jsonl',
  'application/jsonl': 'jsonl',
  'text/csv': 'csv',
  'application/json': 'json',
};

/** The type without its parameters, in lower case; empty where there is none. */
export function mediaTypeOf(contentType: string | null): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
}

/** Null for a content type that items do not come in. */
export function formatOfContentType(contentType: string | null): ItemFormat | null {
  const type = mediaTypeOf(contentType);
  return Object.hasOwn(FORMATS, type) ? (FORMATS[type] ?? null) : null;
}
