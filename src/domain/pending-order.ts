import { isSuspect } from './strikes.ts';

/**
 * The order in which pending items go out: first those that came back with a strike, only among themselves because one
 * of them may kill its worker; then others that came back; then those that were never out.
 */
export const PENDING_ORDER = ['suspect', 'returned', 'fresh'] as const;

export type PendingKind = (typeof PENDING_ORDER)[number];

/** How an item that has been out before waits. */
export function kindWhenBack(strikes: number): 'suspect' | 'returned' {
  return isSuspect(strikes) ? 'suspect' : 'returned';
}
