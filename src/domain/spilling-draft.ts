/**
 * Bytes on their way into a store: in memory while they are few, then in a file that the store provides.
 * A draft is `open` until it is taken or discarded. A put takes it (`put`); if its key turns out to be taken, it is
 * `returned` and may be taken again. When the put is over, or the draft is discarded, its bytes are removed. Every step
 * waits for the write under way: an item whose time is over is discarded while its scraper, which has not noticed yet,
 * may still be writing.
 */
export class SpillingDraft<Spilled> {
  readonly #place: DraftPlace<Spilled>;
  readonly #hash: RunningHash;
  #state: 'open' | 'put' | 'returned' | 'discarded' = 'open';
  #chunks: Uint8Array[] = [];
  #taken: TakenDraft<Spilled> | null = null;
  #spilled: Spilled | null = null;
  #busy: Promise<unknown> = Promise.resolve();
  #size = 0;

  constructor(place: DraftPlace<Spilled>) {
    this.#place = place;
    this.#hash = place.newHash();
  }

  get size(): number {
    return this.#size;
  }

  /** Whether this draft belongs to that place, which alone can put it. */
  static isIn<S>(draft: object, place: DraftPlace<S>): draft is SpillingDraft<S> {
    return draft instanceof SpillingDraft && draft.#place === place;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#mustBeOpen();
    // Hashed before any wait: the array belongs to the caller, who may reuse it.
    this.#hash.update(chunk);
    this.#size += chunk.byteLength;
    this.#chunks.push(new Uint8Array(chunk));
    if (this.#size > this.#place.inMemoryBytes) await this.#next(() => this.#spill());
  }

  async discard(): Promise<void> {
    if (this.#state !== 'put') await this.remove();
  }

  /** Takes all of it; no more can be added. The caller ends it with `remove` or `giveBack`. */
  async take(): Promise<TakenDraft<Spilled>> {
    if (this.#state !== 'returned') this.#mustBeOpen();
    this.#state = 'put';
    this.#taken ??= await this.#seal();
    return this.#taken;
  }

  /** It could not be put under this key, and may be put under another. */
  giveBack(): void {
    if (this.#state === 'put') this.#state = 'returned';
  }

  async remove(): Promise<void> {
    if (this.#state !== 'put') {
      this.#state = 'discarded';
      this.#size = 0;
    }
    await this.#next(() => this.#drop());
  }

  #seal(): Promise<TakenDraft<Spilled>> {
    return this.#next(async () => {
      this.#mustNotBeDiscarded();
      const spilled = this.#spilled;
      if (spilled !== null) await this.#place.seal(spilled);
      const content = spilled === null ? ({ bytes: joined(this.#chunks) } as const) : ({ spilled } as const);
      return { content, size: this.#size, sha256: this.#hash.digest('hex') };
    });
  }

  async #drop(): Promise<void> {
    this.#chunks = [];
    this.#taken = null;
    const spilled = this.#spilled;
    this.#spilled = null;
    if (spilled !== null) await this.#place.remove(spilled);
  }

  async #spill(): Promise<void> {
    this.#mustNotBeDiscarded();
    const bytes = joined(this.#chunks);
    this.#chunks = [];
    // Pieces that arrived while another was being written were written with it.
    if (bytes.byteLength === 0) return;
    try {
      this.#spilled ??= await this.#place.open();
      await this.#place.append(this.#spilled, bytes);
    } catch (error) {
      this.#state = 'discarded';
      await this.#drop().catch(() => {});
      throw this.#place.explain(error);
    }
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#busy.then(work);
    this.#busy = done.catch(() => {});
    return done;
  }

  /** For a step that had to wait, and may find its bytes gone. */
  #mustNotBeDiscarded(): void {
    if (this.#state === 'discarded') throw new Error('this draft was already discarded, or there was no room for it');
  }

  #mustBeOpen(): void {
    this.#mustNotBeDiscarded();
    if (this.#state !== 'open') throw new Error('this draft was already put');
  }
}

/** Where the drafts of a store go when they are too large to hold. */
export interface DraftPlace<Spilled> {
  /** A draft up to this size stays in memory. */
  readonly inMemoryBytes: number;
  newHash(): RunningHash;
  /** A new, empty file. */
  open(): Promise<Spilled>;
  append(file: Spilled, bytes: Uint8Array): Promise<void>;
  /** Called once, after the last write, and before anything is read. */
  seal(file: Spilled): Promise<void>;
  /** Removes a file, sealed or not. Bytes that have been moved to their final place by then stay. */
  remove(file: Spilled): Promise<void>;
  /** The error to throw for one that `open` or `append` threw. */
  explain(error: unknown): unknown;
}

/** For drafts that stay in memory, however large they get. */
export function heldDrafts(newHash: () => RunningHash): DraftPlace<never> {
  const refuse = async (): Promise<never> => {
    throw new Error('a draft that is held in memory has no file');
  };
  return {
    inMemoryBytes: Number.POSITIVE_INFINITY,
    newHash,
    open: refuse,
    append: refuse,
    seal: refuse,
    remove: refuse,
    explain: (error) => error,
  };
}

/** An incremental SHA-256. It is an argument because `domain/` does no cryptography of its own. */
export interface RunningHash {
  update(bytes: Uint8Array): unknown;
  digest(encoding: 'hex'): string;
}

/** The bytes of a draft on their way to a key. */
export interface TakenDraft<Spilled> {
  readonly content: { readonly bytes: Uint8Array } | { readonly spilled: Spilled };
  readonly size: number;
  readonly sha256: string;
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [only, ...others] = chunks;
  if (only !== undefined && others.length === 0) return only;
  const all = new Uint8Array(chunks.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}
