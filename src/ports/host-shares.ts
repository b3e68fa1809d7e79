import type { LineAsk, LineShare } from '../domain/line-book.ts';

/**
 * The limits of hosts, kept by all processes of an installation together: a process reserves what it may use of a line for
 * some seconds, and keeps to it by itself. A line is a host, the requests of a job, or the items that a job begins.
 *
 * Whatever the order in which processes ask, and however many ask at once, nothing is given to two of them: what is
 * answered to one is already taken for all who ask later. An answer that is lost wastes what it gave until the lease ends,
 * and no more. What a process had when it ended is free when its lease has ended.
 */
export interface HostShares {
  /**
   * Reserves on each of the lines for a process, and answers in their order; see `domain/line-book.ts`. What the process
   * had of a line's places is replaced; slots that it has keep belonging to it. A lease is renewed by asking again.
   */
  reserve(process: string, asks: readonly NamedAsk[], now: number): Promise<readonly LineShare[]>;
}

export interface NamedAsk extends LineAsk {
  /** See `domain/line-name.ts`. */
  readonly line: string;
}
