/** An item whose browser ends this often is poison, like one that kills its worker this often. */
export const MOST_DEATHS = 3;

/**
 * Finds out which item takes the browser down, of several that are in it. An item during which a browser ended is
 *
 *   suspect    its next try has all browsers of the process to itself
 *   guilty     a browser ended during such a try, too; the third time it is poison
 *   cleared    otherwise: it only was in the wrong place
 *
 * Tries of all other items wait at the door meanwhile, as a worker process lets a suspect run alone.
 */
export class Suspects {
  /** By item: how many browsers ended while it was in them. */
  readonly #deaths = new Map<string, number>();
  #inside = 0;
  /** The most that were inside since it was last empty. */
  #most = 0;
  #isAlone = false;
  readonly #line: { readonly alone: boolean; readonly go: () => void }[] = [];

  /**
   * Waits until a try of the item may begin, and returns how to end it. Rejects with the signal's reason if that
   * aborts.
   */
  async enter(item: string, signal: AbortSignal): Promise<Entered> {
    signal.throwIfAborted();
    const alone = this.#deaths.has(item);
    if (this.#line.length === 0 && this.#hasRoom(alone)) this.#admit(alone);
    else await this.#wait(alone, signal);
    let hasLeft = false;
    return {
      leave: (isBrowserGone) => {
        if (hasLeft) return { deaths: 0, wasShared: false };
        hasLeft = true;
        const wasShared = !alone && this.#most > 1;
        this.#inside -= 1;
        this.#isAlone = false;
        if (this.#inside === 0) this.#most = 0;
        const deaths = isBrowserGone ? (this.#deaths.get(item) ?? 0) + 1 : 0;
        if (deaths === 0 || deaths >= MOST_DEATHS) this.#deaths.delete(item);
        else this.#remember(item, deaths);
        this.#callNext();
        return { deaths, wasShared };
      },
    };
  }

  #hasRoom(alone: boolean): boolean {
    return alone ? this.#inside === 0 : !this.#isAlone;
  }

  #admit(alone: boolean): void {
    this.#inside += 1;
    this.#most = Math.max(this.#most, this.#inside);
    this.#isAlone = alone;
  }

  async #wait(alone: boolean, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const place = { alone, go: resolve };
    const abort = () => {
      const index = this.#line.indexOf(place);
      if (index >= 0) this.#line.splice(index, 1);
      reject(signal.reason);
      this.#callNext();
    };
    this.#line.push(place);
    signal.addEventListener('abort', abort, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', abort));
  }

  /** Those at the front of the line enter together, up to the first that must be alone. */
  #callNext(): void {
    for (let [next] = this.#line; next !== undefined && this.#hasRoom(next.alone); [next] = this.#line) {
      this.#line.shift();
      this.#admit(next.alone);
      next.go();
    }
  }

  /** An item whose attempt ended otherwise is never heard of again. */
  #remember(item: string, deaths: number): void {
    if (this.#deaths.size >= MOST_REMEMBERED) this.#deaths.delete(this.#deaths.keys().next().value ?? '');
    this.#deaths.set(item, deaths);
  }
}

const MOST_REMEMBERED = 1000;

export interface Entered {
  /** `isBrowserGone`: the browser ended during the try. */
  leave(isBrowserGone: boolean): Left;
}

interface Left {
  /** How many browsers have ended during the item by now. */
  readonly deaths: number;
  /** Whether other items may have been in the browser: then it is unknown which of them caused it. */
  readonly wasShared: boolean;
}
