import { EMPTY_BOOK, type LineBook, reserve } from '../../src/domain/line-book.ts';
import type { HostShares, NamedAsk } from '../../src/ports/host-shares.ts';
import type { Plant } from './plant.ts';

/** What is made of a line's book before it answers. */
type Mistake = (book: LineBook, process: string, ask: NamedAsk, now: number) => LineBook;

function sharesWith(mistake: Mistake): HostShares {
  const books = new Map<string, LineBook>();
  return {
    async reserve(process, asks, now) {
      return asks.map((ask) => {
        const known = mistake(books.get(ask.line) ?? EMPTY_BOOK, process, ask, now);
        const { book, share } = reserve(known, process, ask, now);
        books.set(ask.line, book);
        return share;
      });
    },
  };
}

/** A lease that has ended is still kept for its process, which may be dead. */
const neverEnds: Mistake = (book, _process, { leaseMs }, now) => ({
  ...book,
  holders: book.holders.map((holder) => ({ ...holder, until: Math.max(holder.until, now + leaseMs) })),
});

/** Only the one of the others that asked last counts. */
const countsOne: Mistake = (book, process) => {
  const last = book.holders.findLast((holder) => holder.process !== process);
  return { ...book, holders: book.holders.filter((holder) => holder.process === process || holder === last) };
};

/** A process that asks again before its lease is over is thought not to have heard, and what it was given is free again. */
const takesSlotsBack: Mistake = (book, process, _ask, now) => {
  const isEarly = book.holders.some((holder) => holder.process === process && holder.slotsUntil > now);
  if (!isEarly || book.grid === null) return book;
  return { ...book, grid: { ...book.grid, taken: 0n } };
};

/** The pace that one process has found is not there for the next. */
const forgetsPace: Mistake = (book) => ({ ...book, health: book.health && { ...book.health, rate: null } });

/** That a host is away is known only to the process that found it. */
const hidesOutage: Mistake = (book) => ({ ...book, health: book.health && { ...book.health, pauses: 0 } });

/** Mistakes in what processes may use of a host. */
export const SHARE_BUGS: readonly Plant[] = [
  { name: 'the share of a dead process never comes back', shares: () => sharesWith(neverEnds) },
  { name: 'only one of the others is counted when places are given', shares: () => sharesWith(countsOne) },
  { name: 'slots are given again after an answer was lost', shares: () => sharesWith(takesSlotsBack) },
  { name: 'the pace that a process has found is forgotten', shares: () => sharesWith(forgetsPace) },
  { name: 'a host that is away gets a probe from each process', shares: () => sharesWith(hidesOutage) },
];
