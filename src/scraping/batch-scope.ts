import type { ItemInput } from '../domain/item.ts';

/** An item of a batch, as its scraper may see it beforehand. */
export interface BatchItem {
  readonly itemId: string;
  readonly input: ItemInput;
}

/**
 * Lives as long as the batch of an item. What one item leaves in it, such as a browser context or the time of a
 * request, is there for the next item of the batch. An item that runs by itself has its own.
 */
export class BatchScope {
  /** All items of the batch, in the order in which they are processed. None for an item that runs by itself. */
  readonly items: readonly BatchItem[];
  /** Most scrapers leave nothing. */
  #kept: Map<symbol, unknown> | null = null;
  #closers: (() => Promise<void>)[] | null = null;

  constructor(items: readonly BatchItem[] = []) {
    this.items = items;
  }

  /** The value under the key; created when it is first requested. */
  keep<T>(key: symbol, make: () => T): T {
    this.#kept ??= new Map();
    if (!this.#kept.has(key)) this.#kept.set(key, make());
    // A key is used by one module, for one type.
    return this.#kept.get(key) as T;
  }

  /** Called once, when the batch is over, however it ends. It must not reject. */
  onEnd(close: () => Promise<void>): void {
    this.#closers ??= [];
    this.#closers.push(close);
  }

  /** Null if there is nothing to wait for. */
  end(): Promise<void> | null {
    const closers = this.#closers;
    this.#closers = null;
    return closers === null ? null : closeAll(closers);
  }
}

async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  for (const close of closers) await close();
}
