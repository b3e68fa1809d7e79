import type { ByteRange, ContentEncoding, ResultAddress } from '../domain/result-address.ts';
import { type DraftPlace, SpillingDraft } from '../domain/spilling-draft.ts';

/**
 * Keeps bytes under keys. A key is a path of safe segments (see `domain/artifact.ts`); an adapter refuses any other.
 * After an answer from `put`, the bytes can be read back, whole, at the address in that answer. Bytes are read by
 * address: all that is under a key, for which the key alone may be given, or a slice of it.
 */
export interface ResultStore {
  /**
   * `keep`: the first bytes under a key stay. A second put of the same content is no error and answers the same; a put
   * of other content fails with KeyTaken. `replace`: the last bytes win; a reader sees the old or the new ones, whole.
   * Throws StorageTrouble when there is no room. Keys that differ only in case are two keys, or one: a disk may fold it.
   */
  put(key: string, body: Uint8Array | Draft, how: PutOptions): Promise<StoredBytes>;
  /**
   * Puts several, which is cheaper than one after another where they lie in one folder: as if each was put by itself, in
   * this order, up to the first that fails. What was put before a failure may stay. One answer each, in order.
   */
  putAll(puts: readonly Put[]): Promise<readonly StoredBytes[]>;
  /** A new, empty draft. Whoever opens one puts it or discards it. */
  draft(): Draft;
  /**
   * Null when there is nothing under the key. The body is as it was put, decoded; so is a slice, by the encoding in its
   * address. Throws SliceBeyondEnd when the body under the key ends before the slice does.
   */
  get(at: string | ResultAddress): Promise<Uint8Array | null>;
  /**
   * The same piece by piece, for what may be too large to hold; with a range, only that much of the decoded body or
   * slice. A range beyond its end is cut short: it never reaches what comes after a slice. A reader that stops early ends
   * the iteration.
   */
  open(at: string | ResultAddress, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null>;
  /**
   * Removes everything under a prefix that ends in `/`, which may take minutes; answers how many keys there were. Nothing
   * there is no error. Null if `watch` stopped it: then some keys may be left, and a second call removes them.
   */
  removeAll(prefix: string, watch?: RemovalWatch): Promise<number | null>;
}

/** For a removal that takes long, and that must not go on for ever. */
export interface RemovalWatch {
  /** Asked before every step that removes something: after a no, nothing more is removed. */
  mayGoOn(): boolean;
  /**
   * Called once, as soon as no key is left under the prefix: from then on, what is put there stays. The bytes may still
   * be on their way out, somewhere else; what a process that died left of them is removed by the next.
   */
  onClear(): void;
}

/** A removal that nobody watches. */
export const UNWATCHED: RemovalWatch = { mayGoOn: () => true, onClear() {} };

export interface Put extends PutOptions {
  readonly key: string;
  readonly body: Uint8Array | Draft;
}

/**
 * Bytes on their way into the store, of any size: a few are held in memory, many go where the adapter keeps what is
 * unfinished. A draft is put once, in the store that made it, as it is (`identity`), and is gone with that. Only a `put`
 * or `putAll` that fails with KeyTaken gives all its drafts back: they may be put under another key, or be discarded.
 * One whose process died is swept up.
 */
export interface Draft {
  /** Bytes so far; none once it is discarded. */
  readonly size: number;
  /** Throws StorageTrouble when there is no room. The next piece waits for this one. */
  write(chunk: Uint8Array): Promise<void>;
  /** Forgets the bytes. After a put, or twice, it does nothing. */
  discard(): Promise<void>;
}

export interface PutOptions {
  readonly contentType: string;
  /** How the adapter keeps the bytes. It hands them out decoded. */
  readonly encoding: ContentEncoding;
  readonly ifTaken: 'keep' | 'replace';
}

/** Where bytes are since they were put: under their key, or, in a store that packs them, in a slice of something larger. */
export interface StoredBytes extends ResultAddress {
  /** Of the body as it was put, like the hash. */
  readonly size: number;
  readonly sha256: string;
  readonly encoding: ContentEncoding;
}

/**
 * For a store whose bytes can be fetched without us: links that are valid for some time, for anyone who has them. A port
 * of its own, because files on a disk cannot be linked to.
 */
export interface ResultLinks {
  /**
   * A link to bytes as a file to keep; null for a slice, because a link leads to all that is under a key. That the bytes
   * are there is not checked. They are handed out as they are kept: what is packed has `Content-Encoding: gzip`, which
   * browsers undo, and other clients only on request.
   */
  presign(at: string | ResultAddress, options: LinkOptions): Promise<string | null>;
}

export interface LinkOptions {
  readonly expiresSeconds: number;
  /** Any: what could do harm in it is replaced. */
  readonly fileName: string;
  /** Instead of the type that the bytes were put with. */
  readonly contentType?: string;
}

/**
 * Two different contents for one key. Rare, because the key of an artifact names its item and attempt: the ledger is
 * younger than the store (a backup was restored), or two ids are one name on this disk.
 */
export class KeyTaken extends Error {
  constructor(key: string) {
    super(`other bytes lie under ${key} already`);
    this.name = 'KeyTaken';
  }
}

/** For adapters. Drafts are gone when their put is over, unless its key was taken: then they are the caller's again. */
export async function endingDrafts<T>(
  puts: readonly Pick<Put, 'body'>[],
  place: DraftPlace<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  const drafts = puts.flatMap(({ body }) => (SpillingDraft.isIn(body, place) ? [body] : []));
  let isTaken = false;
  try {
    return await work();
  } catch (error) {
    isTaken = error instanceof KeyTaken;
    throw error;
  } finally {
    for (const draft of drafts) {
      if (isTaken) draft.giveBack();
      else await draft.remove();
    }
  }
}
