/**
 * Bytes on their way into a store: in memory while they are few, and then in a file that the store provides.
 *
 * A draft is `open` until it is taken or discarded. A put takes it (`put`); if its key turns out to be taken, it is
 * `returned` and may be taken again. When the put is over, or the draft is discarded, its bytes are removed. Every step
 * waits for the write that is under way: an item whose time is over is discarded while its scraper, which has not noticed
 * yet, is still writing.
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

  /** Whether this is a draft of that place, which alone can put it. */
  static isIn<S>(draft: object, place: DraftPlace<S>): draft is SpillingDraft<S> {
    return draft instanceof SpillingDraft && draft.#place === place;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#mustBeOpen();
    // Before anything waits: the array is the caller's, who may use it again.
    this.#hash.update(chunk);
    this.#size += chunk.byteLength;
    this.#chunks.push(new Uint8Array(chunk));
    if (this.#size > this.#place.inMemoryBytes) await this.#next(() => this.#spill());
  }

  async discard(): Promise<void> {
    if (this.#state !== 'put') await this.remove();
  }

  /** All of it, and no more can be added. The caller ends it with `remove`, or with `giveBack`. */
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
    // Pieces that came while another was written went with that one.
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

  /** For a step that had to wait, and may find that its bytes are gone. */
  #mustNotBeDiscarded(): void {
    if (this.#state === 'discarded') throw new Error('this draft was discarded already, or there was no room for it');
  }

  #mustBeOpen(): void {
    this.#mustNotBeDiscarded();
    if (this.#state !== 'open') throw new Error('this draft was put already');
  }
}

/** Where the drafts of a store go when they are too large to hold. */
export interface DraftPlace<Spilled> {
  /** Up to this size a draft is held in memory. */
  readonly inMemoryBytes: number;
  newHash(): RunningHash;
  /** A new, empty file. */
  open(): Promise<Spilled>;
  append(file: Spilled, bytes: Uint8Array): Promise<void>;
  /** Called once, after the last write, and before anything is read. */
  seal(file: Spilled): Promise<void>;
  /** Sealed or not. The bytes may have been given a place of their own by then, which stays. */
  remove(file: Spilled): Promise<void>;
  /** The error to throw for one that `open` or `append` threw. */
  explain(error: unknown): unknown;
}

/** For drafts that are held whole, however large they get. */
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

/** SHA-256 of what comes piece by piece: an argument, because `domain/` does no cryptography of its own. */
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
