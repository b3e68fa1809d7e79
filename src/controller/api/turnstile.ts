/**
 * Limits how many exports run at a time. Each holds a page of the job in memory for as long as its reader takes, and a
 * reader that does not read takes forever.
 */
export class Turnstile {
  readonly #most: number;
  #inside = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Null if it is full. The returned function leaves; calling it again does nothing. */
  enter(): (() => void) | null {
    if (this.#inside >= this.#most) return null;
    this.#inside += 1;
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.#inside -= 1;
    };
  }
}

/** The same chunks; `leave` is called when they end, for whatever reason. */
export function leaving<T>(chunks: AsyncIterable<T>, leave: () => void): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = chunks[Symbol.asyncIterator]();
      return {
        async next() {
          try {
            const result = await iterator.next();
            if (result.done === true) leave();
            return result;
          } catch (error) {
            leave();
            throw error;
          }
        },
        async return() {
          leave();
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
