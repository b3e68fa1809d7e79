import { createHash, hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { S3Client } from '@aws-sdk/client-s3';
import { isSafeKey } from '../../domain/artifact.ts';
import { backoffMs } from '../../domain/backoff.ts';
import { type ByteRange, cutRange, parseAddress, type ResultAddress } from '../../domain/result-address.ts';
import { type DraftPlace, SpillingDraft } from '../../domain/spilling-draft.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  type Draft,
  endingDrafts,
  KeyTaken,
  type LinkOptions,
  type Put,
  type PutOptions,
  type RemovalWatch,
  type ResultLinks,
  type ResultStore,
  type StoredBytes,
  UNWATCHED,
} from '../../ports/result-store.ts';
import { StorageTrouble } from '../../ports/storage-trouble.ts';
import { Bodies, pack, type SeenObject } from './results/body.ts';
import { BucketCalls } from './results/calls.ts';
import { contentOf, contentOfDraft, draftFiles } from './results/draft-files.ts';
import { presignedUrl } from './results/link.ts';
import { abortUploads, removeKeys } from './results/removal.ts';
import { type Upload, Uploads } from './results/upload.ts';

/** For a key that others write and remove at the same time. */
const MAX_ROUNDS = 6;
const PAUSE_MS = 50;

const PROBE_BYTES = new TextEncoder().encode('Trawl writes this to see whether it can.\n');
const PROBE: Omit<Upload, 'ifTaken'> = {
  stored: {
    // No job can have it: a safe segment does not begin with a dot.
    key: '.trawl/probe',
    size: PROBE_BYTES.byteLength,
    sha256: hash('sha256', PROBE_BYTES),
    encoding: 'identity',
  },
  content: contentOf(PROBE_BYTES),
  contentType: 'text/plain',
};

export function openS3ResultStore(parts: {
  readonly s3: S3Client;
  readonly bucket: string;
  /** For drafts that are large. */
  readonly tempDir?: string;
  readonly clock: Clock;
}): S3ResultStore {
  return new S3ResultStore({ tempDir: tmpdir(), ...parts });
}

/**
 * Results as objects `<key>` of a bucket. What is kept packed has `Content-Encoding: gzip`, which browsers undo; size and
 * SHA-256 of the bytes as they were put are in the metadata, so that bytes can be compared without being read.
 *
 * A put is one request. The server holds the condition that a key is new; if it is taken, a look at the hash tells a
 * repetition from a mistake. That covers replies that were lost, too: the SDK repeats the request and meets our own bytes.
 */
export class S3ResultStore implements ResultStore, ResultLinks {
  readonly #clock: Clock;
  readonly #drafts: DraftPlace<FileHandle>;
  readonly #calls: BucketCalls;
  readonly #uploads: Uploads;
  readonly #bodies: Bodies;

  constructor(parts: {
    readonly s3: S3Client;
    readonly bucket: string;
    readonly tempDir: string;
    readonly clock: Clock;
  }) {
    this.#clock = parts.clock;
    this.#drafts = draftFiles(parts.tempDir, () => parts.clock.id());
    this.#calls = new BucketCalls(parts);
    this.#uploads = new Uploads(this.#calls);
    this.#bodies = new Bodies(this.#calls);
  }

  async put(
    key: string,
    body: Uint8Array | Draft,
    { contentType, encoding, ifTaken }: PutOptions,
  ): Promise<StoredBytes> {
    const put: Put = { key, body, contentType, encoding, ifTaken };
    return await endingDrafts([put], this.#drafts, async () => (await this.#place(await this.#prepared(put))).stored);
  }

  /**
   * Puts the first alone: if several callers bring different bytes, the one that puts the first wins all, and puts the
   * others concurrently. If the first was already there, another caller may be putting the same files, and the order
   * decides; the same applies to a key that occurs twice.
   */
  async putAll(puts: readonly Put[]): Promise<readonly StoredBytes[]> {
    return await endingDrafts(puts, this.#drafts, async () => {
      for (const { key } of puts) mustBeSafe(key);
      const [first, ...others] = await Promise.all(puts.map((put) => this.#prepared(put)));
      if (first === undefined) return [];
      const { stored, isNew } = await this.#place(first);
      const isTogether = isNew && new Set(puts.map(({ key }) => key)).size === puts.length;
      return [stored, ...(isTogether ? await this.#placeTogether(others) : await this.#placeInOrder(others))];
    });
  }

  draft(): Draft {
    return new SpillingDraft(this.#drafts);
  }

  async get(at: string | ResultAddress): Promise<Uint8Array | null> {
    const { key, slice } = parseAddress(at);
    mustBeSafe(key);
    return slice === null ? await this.#bodies.whole(key) : await this.#bodies.wholeSlice(key, slice);
  }

  async open(at: string | ResultAddress, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    const { key, slice } = parseAddress(at);
    mustBeSafe(key);
    // An invalid range is refused, whether or not there are bytes.
    cutRange(range, 0);
    const object = await this.#bodies.see(key);
    if (object === null) return null;
    if (slice !== null) return await this.#bodies.openSlice(key, object, slice, range);
    return { [Symbol.asyncIterator]: () => this.#bodies.pieces(key, object, range) };
  }

  async removeAll(prefix: string, watch: RemovalWatch = UNWATCHED): Promise<number | null> {
    if (!prefix.endsWith('/')) throw new Error(`a prefix ends in "/", and this one does not: ${shown(prefix)}`);
    mustBeSafe(prefix.slice(0, -1));
    if (!(await abortUploads(this.#calls, prefix, watch))) return null;
    const removed = await removeKeys(this.#calls, prefix, watch);
    if (removed !== null) watch.onClear();
    return removed;
  }

  async presign(at: string | ResultAddress, options: LinkOptions): Promise<string | null> {
    const { key, slice } = parseAddress(at);
    mustBeSafe(key);
    // A signature can only cover a range as a header that the client must send, which no client does for a link.
    return slice === null ? await presignedUrl(this.#calls, key, options) : null;
  }

  /** Throws StorageTrouble if nothing can be written now. */
  async probe(): Promise<void> {
    await this.#place({ ...PROBE, ifTaken: 'replace' });
  }

  /**
   * Whether the server supports the condition that a key is new. An S3 server that ignores it would let a second writer
   * silently replace what the first has recorded.
   */
  async holdsConditions(): Promise<boolean> {
    await this.probe();
    return (await this.#uploads.put({ ...PROBE, ifTaken: 'keep' })) !== 'stored';
  }

  async #prepared({ key, body, contentType, encoding, ifTaken }: Put): Promise<Upload> {
    mustBeSafe(key);
    if (body instanceof Uint8Array) {
      const stored = { key, size: body.byteLength, sha256: hash('sha256', body), encoding };
      return { stored, content: contentOf(encoding === 'gzip' ? await pack(body) : body), contentType, ifTaken };
    }
    if (!SpillingDraft.isIn(body, this.#drafts)) throw new Error(`the draft for ${key} is not one of this store`);
    const taken = await body.take();
    const stored = { key, size: taken.size, sha256: taken.sha256, encoding: 'identity' } as const;
    return { stored, content: contentOfDraft(taken), contentType, ifTaken };
  }

  async #placeInOrder(uploads: readonly Upload[]): Promise<readonly StoredBytes[]> {
    const answers: StoredBytes[] = [];
    for (const upload of uploads) answers.push((await this.#place(upload)).stored);
    return answers;
  }

  /** Resolves when all have ended, because drafts are removed then. The first failure in order is the one reported. */
  async #placeTogether(uploads: readonly Upload[]): Promise<readonly StoredBytes[]> {
    const placing = uploads.map((upload) => this.#place(upload));
    await Promise.allSettled(placing);
    const answers: StoredBytes[] = [];
    for (const each of placing) answers.push((await each).stored);
    return answers;
  }

  async #place(upload: Upload): Promise<{ readonly stored: StoredBytes; readonly isNew: boolean }> {
    const { stored, ifTaken } = upload;
    for (let round = 1; round <= MAX_ROUNDS; round += 1) {
      const answer = await this.#uploads.put(upload);
      if (answer === 'stored') return { stored, isNew: true };
      const there = answer === 'taken' ? await this.#bodies.see(stored.key) : null;
      if (there !== null) {
        if ((await this.#hashOf(stored.key, there)) === stored.sha256) {
          return { stored: { ...stored, encoding: there.encoding }, isNew: false };
        }
        if (ifTaken === 'keep') throw new KeyTaken(stored.key);
      }
      await this.#clock.sleep(backoffMs(round, PAUSE_MS) * (1 + this.#clock.chance()));
    }
    throw new StorageTrouble('io', `cannot store ${stored.key}: others keep writing and removing it`);
  }

  /** Objects that others have put there have no hash, and must be read. */
  async #hashOf(key: string, object: SeenObject): Promise<string> {
    if (object.sha256 !== null) return object.sha256;
    const digest = createHash('sha256');
    for await (const piece of this.#bodies.pieces(key, object, null)) digest.update(piece);
    return digest.digest('hex');
  }
}

function mustBeSafe(key: string): void {
  if (!isSafeKey(key)) throw new Error(`not a key of safe segments: ${shown(key)}`);
}

function shown(key: string): string {
  return JSON.stringify(key.slice(0, 200));
}
