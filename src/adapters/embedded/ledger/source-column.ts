import type { SourcePage } from '../../../domain/item.ts';

/** The `source` of an item as stored in its row. Nearly all items have none, and NULL takes no room. */
export function encodeSource(source: SourcePage | undefined): string | null {
  return source === undefined ? null : JSON.stringify(source);
}

/** A field of its own, or none: what has no source does not have the field. */
export function sourceOf(column: string | null): { readonly source?: SourcePage } {
  return column === null ? NONE : { source: JSON.parse(column) };
}

const NONE = {};
