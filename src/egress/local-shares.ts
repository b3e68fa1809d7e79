import { EMPTY_BOOK, type LineBook, reserve } from '../domain/line-book.ts';
import type { HostShares } from '../ports/host-shares.ts';

/** For a process that shares its hosts with no other: `trawl try` and what else works without a ledger. */
export function openLocalShares(): HostShares {
  const books = new Map<string, LineBook>();
  return {
    async reserve(process, asks, now) {
      return asks.map(({ line, ...ask }) => {
        const { book, share } = reserve(books.get(line) ?? EMPTY_BOOK, process, ask, now);
        books.set(line, book);
        return share;
      });
    },
  };
}
