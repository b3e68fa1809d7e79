import { Problem } from '../../contract/problem.ts';

/**
 * Cursors as users see them: opaque, and valid only for the list they came from. A made-up, truncated or foreign one is
 * rejected: a ledger would answer it with an empty page, and rows would be missed silently.
 */
export function encodeCursor(list: string, next: string | null): string | null {
  return next === null ? null : Buffer.from(JSON.stringify([list, next])).toString('base64url');
}

export function decodeCursor(list: string, cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const parts = readCursor(cursor);
  if (parts === null || parts[0] !== list) {
    const message = 'is not a next_cursor of this list with these filters';
    throw new Problem('invalid_request', 'Invalid cursor: see errors.', [{ path: 'cursor', message }]);
  }
  return parts[1];
}

function readCursor(cursor: string): readonly [string, string] | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (!Array.isArray(value) || value.length !== 2) return null;
    const [list, next]: unknown[] = value;
    const isOurs = typeof list === 'string' && typeof next === 'string' && encodeCursor(list, next) === cursor;
    return isOurs ? [list, next] : null;
  } catch {
    return null;
  }
}
