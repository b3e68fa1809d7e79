import type { SettledItem } from '../../ports/ledger.ts';

/** What was settled since it was last told: a bounded number of outcomes, failures before all others, and how many more. */
export class OutcomeBatch {
  readonly #max: number;
  #failed: SettledItem[] = [];
  #others: SettledItem[] = [];
  #seen = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(items: readonly SettledItem[]): void {
    this.#seen += items.length;
    for (const item of items) {
      const kept = item.status === 'failed' ? this.#failed : this.#others;
      if (kept.length < this.#max) kept.push(item);
    }
  }

  /** Null when there is nothing to tell. */
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
