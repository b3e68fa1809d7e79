import { EMPTY_BOOK, type LineBook, reserve } from '../../../src/domain/line-book.ts';
import type { HostShares } from '../../../src/ports/host-shares.ts';

/** Kept in this process. */
export function openMemoryHostShares(): HostShares {
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
