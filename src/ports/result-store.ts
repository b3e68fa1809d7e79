import type { ByteRange, ContentEncoding, ResultAddress } from '../domain/result-address.ts';
import { type DraftPlace, SpillingDraft } from '../domain/spilling-draft.ts';

/**
 * Stores bytes under keys. A key is a path of safe segments (see `domain/artifact.ts`); an adapter refuses any other.
 * After an answer from `put`, the complete bytes can be read back at the address in that answer. Bytes are read by
 * address: everything under a key, for which the key alone may be given, or a slice of it.
 */
export interface ResultStore {
  /**
   * `keep`: the first bytes under a key stay. A second put of the same content is not an error and gets the same answer; a
   * put of other content fails with KeyTaken. `replace`: the last bytes win; a reader sees either the old or the new ones,
   * complete. `overwrite`: the same for bodies that their readers check, which is cheaper: a reader may see a part of the
   * new bytes, and a crash may leave a part. Throws StorageTrouble when there is no room. Keys that differ only in case may
   * be the same key, because a disk may fold case.
   */
  put(key: string, body: Uint8Array | Draft, how: PutOptions): Promise<StoredBytes>;
  /**
   * Puts several, which is cheaper than one after another if they are in one folder. The effect is the same as putting
   * each by itself, in this order, up to the first that fails. What was put before a failure may stay. Returns one
   * answer each, in order.
   */
  putAll(puts: readonly Put[]): Promise<readonly StoredBytes[]>;
  /** A new, empty draft. The caller must put it or discard it. */
  draft(): Draft;
  /**
   * Null if there is nothing under the key. The body is decoded, as it was put; so is a slice, by the encoding in its
   * address. Throws SliceBeyondEnd if the body under the key ends before the slice does, and BytesDamaged if it cannot be
   * decoded.
   */
  get(at: string | ResultAddress): Promise<Uint8Array | null>;
  /**
   * Reads the same in pieces, for bodies that may be too large for memory; with a range, only that part of the decoded
   * body or slice. A range beyond the end is cut short: it never reaches what comes after a slice. A reader that stops
   * early ends the iteration.
   */
  open(at: string | ResultAddress, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null>;
  /**
   * Removes everything under a prefix that ends in `/`, which may take minutes; returns how many keys there were. An empty
   * prefix is not an error. Null if `watch` stopped it: then some keys may be left, and a second call removes them.
   */
  removeAll(prefix: string, watch?: RemovalWatch): Promise<number | null>;
}

/** Watches a removal that takes long and must be stoppable. */
export interface RemovalWatch {
  /** Called before every step that removes something: once it returns false, nothing more is removed. */
  mayGoOn(): boolean;
  /**
   * Called once, as soon as no key is left under the prefix: from then on, what is put there stays. The bytes may still
   * be in the process of being deleted elsewhere; if the process dies, the next one removes the rest.
   */
  onClear(): void;
}

/** For removals that run to the end. */
export const UNWATCHED: RemovalWatch = { mayGoOn: () => true, onClear() {} };

export interface Put extends PutOptions {
  readonly key: string;
  readonly body: Uint8Array | Draft;
}

/**
 * Bytes on their way into the store, of any size: small drafts are kept in memory, large ones where the adapter keeps
 * unfinished data. A draft is put once, in the store that created it, uncompressed (`identity`), and is then used up.
 * Only a `put` or `putAll` that fails with KeyTaken returns all its drafts: they may be put under another key, or be
 * discarded. Drafts of a dead process are swept up.
 */
export interface Draft {
  /** Bytes so far; 0 once it is discarded. */
  readonly size: number;
  /** Throws StorageTrouble when there is no room. Wait for it before writing the next piece. */
  write(chunk: Uint8Array): Promise<void>;
  /** Drops the bytes. After a put, or when repeated, it does nothing. */
  discard(): Promise<void>;
}

export interface PutOptions {
  readonly contentType: string;
  /** How the adapter stores the bytes. Reads return them decoded. */
  readonly encoding: ContentEncoding;
  readonly ifTaken: 'keep' | 'replace' | 'overwrite';
}

/** Where bytes are after they were put: under their key or, in a store that packs them, in a slice of a larger object. */
export interface StoredBytes extends ResultAddress {
  /** Size of the body as it was put, as is the hash. */
  readonly size: number;
  readonly sha256: string;
  readonly encoding: ContentEncoding;
}

/**
 * For a store whose bytes can be fetched directly: links that are valid for some time, for anyone who has them. This is
 * a separate port because files on a disk cannot be linked to.
 */
export interface ResultLinks {
  /**
   * A link that downloads the bytes as a file; null for a slice, because a link leads to everything under a key. It is not
   * checked that the bytes exist. They are sent as they are stored: compressed ones have `Content-Encoding: gzip`, which
   * browsers decode, and other clients only on request.
   */
  presign(at: string | ResultAddress, options: LinkOptions): Promise<string | null>;
}

export interface LinkOptions {
  readonly expiresSeconds: number;
  /** Any name: unsafe characters are replaced. */
  readonly fileName: string;
  /** Overrides the type that the bytes were put with. */
  readonly contentType?: string;
}

/**
 * Two different contents for one key. It is rare, because the key of an artifact names its item and attempt: either the
 * ledger is older than the store (a backup was restored), or two ids have the same name on this disk.
 */
export class KeyTaken extends Error {
  constructor(key: string) {
    super(`${key} already has other content`);
    this.name = 'KeyTaken';
  }
}

/**
 * The bytes under a key are not the ones that were put there: a crash of the machine damaged them, or something else
 * wrote to them.
 */
export class BytesDamaged extends Error {
  constructor(key: string, cause: unknown) {
    super(`the bytes under ${key} are damaged`, { cause });
    this.name = 'BytesDamaged';
  }
}

/** For adapters: removes drafts when their put is over, unless its key was taken, in which case the caller gets them back. */
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
