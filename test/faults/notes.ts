/** What the scraper of the fault run knows by itself, without the ledger: all its workers are in one process. */
export class Notes {
  readonly ended = { success: new Set<string>(), failed: new Set<string>() };
  readonly #tries = new Map<string, { count: number; readonly again: PromiseWithResolvers<void> }>();
  readonly #first = Promise.withResolvers<void>();

  /** Resolves when a worker has begun an item. */
  get firstBegun(): Promise<void> {
    return this.#first.promise;
  }

  /**
   * How often the item has been begun by now. The very first item of all is not let go before another worker has begun
   * it: the worker that has it has lost its lease by then.
   */
  async begin(itemId: string): Promise<number> {
    const isVeryFirst = this.#tries.size === 0;
    const tries = this.#tries.get(itemId) ?? { count: 0, again: Promise.withResolvers<void>() };
    this.#tries.set(itemId, tries);
    tries.count += 1;
    const { count } = tries;
    if (count > 1) tries.again.resolve();
    this.#first.resolve();
    if (isVeryFirst) await tries.again.promise;
    return count;
  }
}

const notes = new Map<string, Notes>();

export function notesOf(jobId: string): Notes {
  const known = notes.get(jobId) ?? new Notes();
  notes.set(jobId, known);
  return known;
}
