import type { LineAsk, LineShare } from '../domain/line-book.ts';

/**
 * The limits of hosts, shared by all processes of an installation: a process reserves its share of a line for some
 * seconds, and keeps to it on its own. A line is a host, the requests of a job, or the items that a job begins.
 * Whatever the order in which processes ask, and however many ask at once, nothing is given to two of them: what one
 * was given is already taken for all who ask later. A lost answer only wastes what it gave until the lease ends. What a
 * process had when it ended becomes free when its lease ends.
 */
export interface HostShares {
  /**
   * Reserves a share of each line for a process, and answers in the order of the lines; see `domain/line-book.ts`. The
   * process's places on a line are replaced; slots that it has remain its own. Asking again renews the lease.
   */
  reserve(process: string, asks: readonly NamedAsk[], now: number): Promise<readonly LineShare[]>;
}

export interface NamedAsk extends LineAsk {
  /** See `domain/line-name.ts`. */
  readonly line: string;
}
