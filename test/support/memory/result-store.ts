import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { isSafeKey } from '../../../src/domain/artifact.ts';
import {
  type ByteRange,
  cutRange,
  locateSlice,
  parseAddress,
  type ResultAddress,
} from '../../../src/domain/result-address.ts';
import { heldDrafts, SpillingDraft } from '../../../src/domain/spilling-draft.ts';
import {
  type Draft,
  endingDrafts,
  KeyTaken,
  type Put,
  type PutOptions,
  type RemovalWatch,
  type ResultStore,
  type StoredBytes,
  UNWATCHED,
} from '../../../src/ports/result-store.ts';

/** Bytes in a map, copied on the way in and out, so that a caller that keeps the array cannot change them. */
export class MemoryResultStore implements ResultStore {
  readonly #drafts = heldDrafts(() => createHash('sha256'));
  readonly #kept = new Map<string, { readonly body: Uint8Array; readonly stored: StoredBytes }>();

  async put(key: string, body: Uint8Array | Draft, how: PutOptions): Promise<StoredBytes> {
    const [stored] = await this.putAll([{ key, body, ...how }]);
    if (stored === undefined) throw new Error('one put has one answer');
    return stored;
  }

  /** Puts all of them in one step, when their drafts are taken. */
  async putAll(puts: readonly Put[]): Promise<readonly StoredBytes[]> {
    return endingDrafts(puts, this.#drafts, async () => {
      const bodies: Uint8Array[] = [];
      for (const { key, body } of puts) bodies.push(body instanceof Uint8Array ? body : await this.#take(key, body));
      return puts.map(({ key, body, ...how }, index) => {
        const encoding = body instanceof Uint8Array ? how.encoding : 'identity';
        return this.#keep(key, bodies[index] ?? new Uint8Array(), { ...how, encoding });
      });
    });
  }

  async #take(key: string, draft: Draft): Promise<Uint8Array> {
    if (!SpillingDraft.isIn(draft, this.#drafts)) throw new Error(`the draft for ${key} is not one of this store`);
    const { content } = await draft.take();
    return 'bytes' in content ? content.bytes : assert.fail('it is held in memory');
  }

  #keep(key: string, body: Uint8Array, { encoding, ifTaken }: PutOptions): StoredBytes {
    if (!isSafeKey(key)) throw new Error(`not a safe key: ${JSON.stringify(key)}`);
    const sha256 = createHash('sha256').update(body).digest('hex');
    const present = this.#kept.get(key);
    if (present !== undefined && ifTaken === 'keep') {
      if (present.stored.sha256 !== sha256) throw new KeyTaken(key);
      return present.stored;
    }
    const stored: StoredBytes = { key, size: body.length, sha256, encoding };
    this.#kept.set(key, { body: Uint8Array.from(body), stored });
    return stored;
  }

  /** For tests: what there is. */
  keys(): readonly string[] {
    return [...this.#kept.keys()];
  }

  draft(): Draft {
    return new SpillingDraft(this.#drafts);
  }

  async get(at: string | ResultAddress): Promise<Uint8Array | null> {
    const body = this.#find(at);
    return body === null ? null : Uint8Array.from(body);
  }

  async open(at: string | ResultAddress, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    cutRange(range, 0);
    const body = this.#find(at);
    if (body === null) return null;
    const { start, end } = cutRange(range, body.length);
    return { [Symbol.asyncIterator]: () => piecesOf(body.subarray(start, end)) };
  }

  #find(at: string | ResultAddress): Uint8Array | null {
    const { key, slice } = parseAddress(at);
    if (!isSafeKey(key)) throw new Error(`not a safe key: ${JSON.stringify(key)}`);
    const body = this.#kept.get(key)?.body ?? null;
    if (body === null || slice === null) return body;
    const { start, end } = locateSlice(key, slice, body.length);
    const bytes = body.subarray(start, end);
    return slice.encoding === 'gzip' ? gunzipSync(bytes) : bytes;
  }

  async removeAll(prefix: string, watch: RemovalWatch = UNWATCHED): Promise<number | null> {
    if (!prefix.endsWith('/') || !isSafeKey(prefix.slice(0, -1))) {
      throw new Error(`not a safe prefix: ${JSON.stringify(prefix)}`);
    }
    for (let removed = 0; ; ) {
      const keys = [...this.#kept.keys()].filter((key) => key.startsWith(prefix)).slice(0, KEYS_PER_STEP);
      if (keys.length === 0) {
        watch.onClear();
        return removed;
      }
      if (!watch.mayGoOn()) return null;
      for (const key of keys) this.#kept.delete(key);
      removed += keys.length;
    }
  }
}

/** Few, like the page that a real store removes at a time, so that callers meet removals that are half done. */
const KEYS_PER_STEP = 3;

/** As small as those of a real store, so that no caller relies on bodies that come in one piece. */
const PIECE_BYTES = 64 * 1024;

async function* piecesOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.slice(at, at + PIECE_BYTES);
}

export function openMemoryResultStore(): MemoryResultStore {
  return new MemoryResultStore();
}
