/** Lets a few callers work at a time; the others wait for their turn. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free -= 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // A slot is handed over, not freed: a caller that comes in between cannot take it.
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
