/** Work that has begun and not ended, so that its resources are closed only afterwards. */
export class UnderWay {
  readonly #begun = new Set<Promise<unknown>>();

  add<T>(doing: Promise<T>): Promise<T> {
    this.#begun.add(doing);
    const end = () => void this.#begun.delete(doing);
    doing.then(end, end);
    return doing;
  }

  /** Waits for everything in progress, and for what that begins meanwhile. */
  async end(): Promise<void> {
    while (this.#begun.size > 0) await Promise.allSettled(this.#begun);
  }
}
