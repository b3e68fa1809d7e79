import { type AfterOwnError, afterOwnError } from '../domain/own-error.ts';
import type { Lease, LeasedItem } from '../ports/ledger.ts';

/**
 * How often our own code failed on an item, in this process. Counted here and not in the ledger: a fault of one process
 * says little about the others, so an item gets its chances in each.
 */
export class OwnErrors {
  readonly #counts = new Map<string, number>();

  /** Counts one more, and decides what follows. */
  note(lease: Lease, item: Pick<LeasedItem, 'seq'>): AfterOwnError {
    const name = nameOf(lease, item);
    const errors = (this.#counts.get(name) ?? 0) + 1;
    // The newest are last, so that the least recent one is forgotten.
    this.#counts.delete(name);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size >= MAX_KNOWN_ITEMS && oldest !== undefined) this.#counts.delete(oldest);
    this.#counts.set(name, errors);
    return afterOwnError(errors);
  }

  /** It has ended. */
  forget(lease: Lease, item: Pick<LeasedItem, 'seq'>): void {
    if (this.#counts.size > 0) this.#counts.delete(nameOf(lease, item));
  }
}

/** The time of creation distinguishes two jobs with the same id. */
function nameOf({ ref, jobCreatedAt }: Lease, { seq }: Pick<LeasedItem, 'seq'>): string {
  return `${ref.jobId} ${jobCreatedAt} ${seq}`;
}

/** A forgotten item is counted from the beginning, and still ends. */
const MAX_KNOWN_ITEMS = 10_000;
