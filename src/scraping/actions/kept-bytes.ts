import type { Draft } from '../../ports/result-store.ts';
import type { WebDocument } from '../http/web-document.ts';

/** Larger documents are kept, but cannot be uploaded again. */
const MAX_COPY_BYTES = 16 << 20;

/**
 * What an item has kept so far. A result has one document and one screenshot, so that a later one takes the place of an
 * earlier one. Drafts cannot be read: of a recording that uploads its document again, the bytes are copied as they come.
 */
export class KeptBytes {
  readonly #openDraft: () => Draft;
  readonly #copies: boolean;
  #document: WebDocument | null = null;
  #documentBytes: Uint8Array | null = null;
  screenshot: Uint8Array | null = null;
  readonly pages = new Map<string, string>();

  constructor(openDraft: () => Draft, { copies }: { readonly copies: boolean }) {
    this.#openDraft = openDraft;
    this.#copies = copies;
  }

  /** For whatever fetches documents. */
  draft(): Draft {
    const draft = this.#openDraft();
    return this.#copies ? new CopyingDraft(draft) : draft;
  }

  get document(): WebDocument | null {
    return this.#document;
  }

  /** Null if there is no document, or it is too large. */
  get documentBytes(): Uint8Array | null {
    return this.#documentBytes;
  }

  async keepDocument(document: WebDocument): Promise<void> {
    await this.#document?.draft.discard();
    const { draft } = document;
    this.#documentBytes = draft instanceof CopyingDraft ? draft.copy() : null;
    this.#document = draft instanceof CopyingDraft ? { ...document, draft: draft.inner } : document;
  }

  async keepPdf(bytes: Uint8Array, url: string): Promise<void> {
    const draft = this.#openDraft();
    await draft.write(bytes);
    await this.keepDocument({ url, contentType: 'application/pdf', size: bytes.length, extension: 'pdf', draft });
    this.#documentBytes = bytes;
  }

  /** The item starts over. */
  async clear(): Promise<void> {
    await this.#document?.draft.discard();
    this.#document = null;
    this.#documentBytes = null;
    this.screenshot = null;
    this.pages.clear();
  }
}

class CopyingDraft implements Draft {
  readonly inner: Draft;
  readonly #chunks: Uint8Array[] = [];
  #isWhole = true;

  constructor(inner: Draft) {
    this.inner = inner;
  }

  get size(): number {
    return this.inner.size;
  }

  async write(chunk: Uint8Array): Promise<void> {
    await this.inner.write(chunk);
    if (this.inner.size > MAX_COPY_BYTES) this.#isWhole = false;
    if (this.#isWhole) this.#chunks.push(Buffer.from(chunk));
    else this.#chunks.length = 0;
  }

  async discard(): Promise<void> {
    await this.inner.discard();
  }

  copy(): Uint8Array | null {
    return this.#isWhole ? Buffer.concat(this.#chunks) : null;
  }
}
