import type { FailureType } from '../../domain/failure.ts';
import type { AnswerHead, BodySink } from '../../egress/web.ts';
import type { Draft } from '../../ports/result-store.ts';
import { contentTypeOf, type DocumentKind, extensionOf, isDocument, TELLING_BYTES } from './document-kind.ts';

/** A file from the web, on its way into the result store: it is kept only if the scraper returns it. */
export interface WebDocument {
  readonly url: string;
  readonly contentType: string;
  readonly size: number;
  /** Without the dot. */
  readonly extension: string;
  readonly draft: Draft;
}

export interface DocumentOptions {
  /** What it must be; without it, anything but an HTML page. */
  readonly as?: DocumentKind;
}

/** With this, the item continues without the document if it cannot be fetched: the call returns null. */
export interface OptionalDocument {
  readonly optional: true;
}

/** An optional document that could not be fetched, as the item's metadata show it. */
export interface MissingDocument {
  readonly url: string;
  readonly type: FailureType | 'robots';
  readonly message: string;
}

/** How much to keep of an answer that is not a document, to see what it is instead. */
const KEPT_OF_OTHERS = 64 * 1024;

/**
 * Takes a body that should be a document. It is
 *
 *   undecided   until enough bytes have come to know it
 *   a document  and passes every piece on to a draft: none of it stays in memory
 *   other       a page that came instead, of which the beginning is kept
 */
export class DocumentSink implements BodySink {
  readonly #head: AnswerHead;
  readonly #as: DocumentKind | null;
  readonly #openDraft: () => Draft;
  #start: Buffer = Buffer.alloc(0);
  #state: 'undecided' | 'document' | 'other' = 'undecided';
  #draft: Draft | null = null;

  constructor(head: AnswerHead, as: DocumentKind | null, openDraft: () => Draft) {
    this.#head = head;
    this.#as = as;
    this.#openDraft = openDraft;
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (this.#draft !== null) return this.#draft.write(chunk);
    const room = this.#state === 'other' ? KEPT_OF_OTHERS - this.#start.length : chunk.length;
    if (room > 0) this.#start = Buffer.concat([this.#start, chunk.subarray(0, room)]);
    if (this.#state === 'undecided' && this.#start.length >= TELLING_BYTES) await this.#decide();
  }

  /** After the end of the body: the document, or the beginning of what came instead. */
  async end(): Promise<WebDocument | Uint8Array> {
    if (this.#state === 'undecided') await this.#decide();
    if (this.#draft === null) return this.#start;
    const extension = extensionOf(this.#start, this.#head, this.#as);
    const contentType = contentTypeOf(this.#head, extension);
    return { url: this.#head.url, contentType, size: this.#draft.size, extension, draft: this.#draft };
  }

  /** Drops what has arrived so far. */
  async discard(): Promise<void> {
    await this.#draft?.discard();
  }

  async #decide(): Promise<void> {
    const is = isDocument(this.#start, this.#head, this.#as);
    this.#state = is ? 'document' : 'other';
    if (!is) return;
    const draft = this.#openDraft();
    this.#draft = draft;
    await draft.write(this.#start);
    // These bytes identify its kind; the rest is in the draft.
    this.#start = Buffer.from(this.#start.subarray(0, TELLING_BYTES));
  }
}
