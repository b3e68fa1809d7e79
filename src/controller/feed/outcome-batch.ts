import type { SettledItem } from '../../ports/ledger.ts';

/**
 * What was settled since the last event: a bounded number of outcomes, failures first, and the number of others. On a
 * distributed ledger the job's counters can be ahead of the reports of single outcomes, so both are compared.
 */
export class OutcomeBatch {
  readonly #max: number;
  #failed: SettledItem[] = [];
  #others: SettledItem[] = [];
  #seen = 0;
  /** How many items have ended, by the job's counters as last read. */
  #ended = 0;
  /** Counted ends minus reported outcomes. */
  #ahead = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Forgets everything so far: what follows is compared with a job in which `ended` items have ended. */
  restart(ended: number): void {
    this.take();
    this.#ended = ended;
    this.#ahead = 0;
  }

  add(items: readonly SettledItem[]): void {
    this.#seen += items.length;
    this.#ahead -= items.length;
    for (const item of items) {
      const kept = item.status === 'failed' ? this.#failed : this.#others;
      if (kept.length < this.#max) kept.push(item);
    }
  }

  /** Outcomes that the job's counters include but that were not reported: their reports are on the way, or lost. */
  countUnheard(ended: number): number {
    // A retry reopens failed items: they are no longer ended, and no outcome is missing because of that.
    this.#ahead += Math.max(0, ended - this.#ended);
    this.#ended = ended;
    return Math.max(0, this.#ahead);
  }

  /** Gives up on unreported outcomes: they are counted among those left out. */
  writeOffUnheard(): void {
    this.#seen += Math.max(0, this.#ahead);
    this.#ahead = 0;
  }

  /** Null if there is nothing to report. */
  take(): { readonly shown: readonly SettledItem[]; readonly omitted: number } | null {
    if (this.#seen === 0) return null;
    const shown = [...this.#failed, ...this.#others].slice(0, this.#max);
    const omitted = this.#seen - shown.length;
    this.#failed = [];
    this.#others = [];
    this.#seen = 0;
    return { shown, omitted };
  }
}
