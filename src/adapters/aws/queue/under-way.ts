/** What was begun and has not ended, for whoever closes what it needs. */
export class UnderWay {
  readonly #begun = new Set<Promise<unknown>>();

  add<T>(doing: Promise<T>): Promise<T> {
    this.#begun.add(doing);
    const end = () => void this.#begun.delete(doing);
    doing.then(end, end);
    return doing;
  }

  /** Of all that is under way, and of what that begins meanwhile. */
  async end(): Promise<void> {
    while (this.#begun.size > 0) await Promise.allSettled(this.#begun);
  }
}
