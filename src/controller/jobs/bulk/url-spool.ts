import type { Digest } from '../../../domain/artifact.ts';
import type { JobBook, JobDraft } from '../../../ports/ledger.ts';

/** Each chunk is one item of the draft: a ledger accepts long inputs, and fewer of them cost less. */
const URLS_PER_CHUNK = 500;
const CHARACTERS_PER_CHUNK = 32_768;

/** A list up to this length stays in memory. */
const HELD_CHUNKS = 100;

interface Limits {
  readonly urlsPerChunk: number;
  readonly heldChunks: number;
}

/**
 * A list of URLs that is read several times, in constant memory: once to count the pages of each site, and again to
 * divide them into batches. A long one is put into a draft of the ledger that never becomes a job, because every
 * backend removes drafts by itself if we die.
 */
export class UrlSpool {
  readonly #ledger: Pick<JobBook, 'draftJob'>;
  readonly #digest: Digest;
  readonly #limits: Limits;
  readonly #held: (readonly string[])[] = [];
  #draft: JobDraft | null = null;
  #written = 0;
  #chunk: string[] = [];
  #characters = 0;
  #count = 0;
  /** Digest of all URLs so far, in order. */
  #chain = '';

  constructor(
    { ledger, digest }: { readonly ledger: Pick<JobBook, 'draftJob'>; readonly digest: Digest },
    limits: Limits = { urlsPerChunk: URLS_PER_CHUNK, heldChunks: HELD_CHUNKS },
  ) {
    this.#ledger = ledger;
    this.#digest = digest;
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** The same for the same list. */
  get fingerprint(): string {
    return this.#chain;
  }

  async add(url: string): Promise<void> {
    // A lone surrogate cannot be stored, and is part of no URL.
    this.#chunk.push(url.toWellFormed());
    this.#characters += url.length;
    this.#count += 1;
    if (this.#chunk.length >= this.#limits.urlsPerChunk || this.#characters >= CHARACTERS_PER_CHUNK) await this.end();
  }

  /** Afterwards everything that was added can be read. */
  async end(): Promise<void> {
    if (this.#chunk.length === 0) return;
    const chunk = this.#chunk;
    this.#chunk = [];
    this.#characters = 0;
    this.#chain = this.#digest(`${this.#chain}${JSON.stringify(chunk)}`);
    this.#held.push(chunk);
    if (this.#draft === null && this.#held.length <= this.#limits.heldChunks) return;
    this.#draft ??= await this.#ledger.draftJob();
    const items = this.#held.map((urls, at) => ({ itemId: String(this.#written + at), input: { urls } }));
    await this.#draft.add(this.#written, items);
    this.#written += items.length;
    this.#held.length = 0;
  }

  /** In order, from the beginning. */
  async *read(): AsyncGenerator<readonly string[]> {
    for (let first = 0; first < this.#written; ) {
      const items = (await this.#draft?.items(first, CHUNKS_AT_ONCE)) ?? [];
      if (items.length === 0) throw new Error(`the spooled list ends after ${first} of ${this.#written} chunks`);
      for (const { input } of items) yield input['urls'] as readonly string[];
      first += items.length;
    }
    yield* this.#held;
  }

  async drop(): Promise<void> {
    this.#held.length = 0;
    // The ledger removes it later if this fails.
    await this.#draft?.drop().catch(() => {});
  }
}

const CHUNKS_AT_ONCE = 16;
