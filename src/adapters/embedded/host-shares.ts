import { bookEndsAt, EMPTY_BOOK, type LineShare, reserve } from '../../domain/line-book.ts';
import { packLineBook, unpackLineBook } from '../../domain/pack-line-book.ts';
import type { HostShares, NamedAsk } from '../../ports/host-shares.ts';
import type { Committer } from './ledger/committer.ts';
import type { Statements } from './ledger/statements.ts';

/**
 * A row per line, written once per reservation without waiting for the disk: after a crash of the machine its workers
 * are gone as well. It is written at all because the next owner must know what workers still use, and when a slow host
 * was last visited.
 */
export class EmbeddedHostShares implements HostShares {
  readonly #sql: Statements;
  readonly #committer: Committer;
  #reservations = 0;

  constructor(sql: Statements, committer: Committer) {
    this.#sql = sql;
    this.#committer = committer;
  }

  async reserve(process: string, asks: readonly NamedAsk[], now: number): Promise<readonly LineShare[]> {
    if (asks.length === 0) return [];
    return await this.#committer.applied(() => {
      this.#reservations += 1;
      if (this.#reservations % SWEEP_EVERY === 1) this.#sql.deleteShareBooks.run(now - KEPT_MS);
      return asks.map(({ line, ...ask }) => {
        const row = this.#sql.shareBook.get(line)?.['book'];
        const known = typeof row === 'string' ? unpackLineBook(row) : null;
        const { book, share } = reserve(known ?? EMPTY_BOOK, process, ask, now);
        this.#sql.setShareBook.run(line, packLineBook(book), bookEndsAt(book));
        return share;
      });
    });
  }
}

/** Lines that are no longer used cost nothing but room. */
const SWEEP_EVERY = 1000;

/** In case the clock is set back. */
const KEPT_MS = 3_600_000;
