import { Problem } from '../../contract/problem.ts';

/**
 * Cursors as users see them: opaque, and good for the list that they came from alone. One that is made up, cut short or
 * meant for another list is refused: a ledger would answer it with an empty page, and rows would be missed in silence.
 */
export function encodeCursor(list: string, next: string | null): string | null {
  return next === null ? null : Buffer.from(JSON.stringify([list, next])).toString('base64url');
}

export function decodeCursor(list: string, cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const parts = partsOf(cursor);
  if (parts === null || parts[0] !== list) {
    const message = 'it is no next_cursor of this list, with these filters';
    throw new Problem('invalid_request', 'The cursor cannot be used.', [{ path: 'cursor', message }]);
  }
  return parts[1];
}

function partsOf(cursor: string): readonly [string, string] | null {
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
