import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoredArtifact } from '../../../domain/artifact.ts';
import { errorCode } from '../../../domain/error-code.ts';
import {
  type ByteRange,
  type ContentEncoding,
  cutRange,
  cutWithin,
  locateSlice,
  parseAddress,
  type ResultAddress,
  type Slice,
  SliceBeyondEnd,
} from '../../../domain/result-address.ts';
import { BytesDamaged } from '../../../ports/result-store.ts';
import { asStorageTrouble } from '../disk-trouble.ts';
import { unpack } from '../ledger/packing.ts';
import type { ResultFolders } from './result-folders.ts';
import { type ResultPath, resultPath } from './result-path.ts';
import type { ResultRoot } from './result-root.ts';
import { type SeenFile, seeFile, streamBytes, streamFile, TO_READ } from './result-stream.ts';
import type { Disk } from './unfinished-results.ts';

/** A whole body, decoded, and how it is kept. */
export interface FoundBody {
  readonly body: Uint8Array;
  readonly encoding: ContentEncoding;
}

interface ResultReadingDeps {
  readonly root: ResultRoot;
  readonly folders: ResultFolders;
  readonly disk: Disk;
}

/** Reads the files of a result store, whole or in slices. */
export class ResultReading {
  readonly #root: ResultRoot;
  readonly #folders: ResultFolders;
  readonly #disk: Disk;

  constructor({ root, folders, disk }: ResultReadingDeps) {
    this.#root = root;
    this.#folders = folders;
    this.#disk = disk;
  }

  async get(at: string | ResultAddress): Promise<Uint8Array | null> {
    const { key, slice } = parseAddress(at);
    try {
      if (slice !== null) return await collect(await this.#openEither(key, slice, null));
      return (await this.find(resultPath(key)))?.body ?? null;
    } catch (error) {
      throw cannotRead(key, this.#root.explain(error));
    }
  }

  async open(at: string | ResultAddress, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    const { key, slice } = parseAddress(at);
    // An invalid range is refused, whether or not there are bytes.
    cutRange(range, 0);
    try {
      return await this.#openEither(key, slice, range);
    } catch (error) {
      throw cannotRead(key, this.#root.explain(error));
    }
  }

  /** Whether the bytes that were recorded are there, whole. */
  async check(artifact: StoredArtifact): Promise<boolean> {
    try {
      const body = await this.#recorded(artifact);
      if (body === null) this.#root.check();
      return body !== null && body.byteLength === artifact.size && hash('sha256', body) === artifact.sha256;
    } catch (error) {
      if (isDamage(error) || error instanceof SliceBeyondEnd) return false;
      throw asStorageTrouble(this.#root.explain(error), `cannot read ${artifact.key}`);
    }
  }

  find(path: ResultPath): Promise<FoundBody | null> {
    return this.#findEither(path, async (encoding) => {
      const body = await this.#readAs(path, encoding);
      return body === null ? null : { body, encoding };
    });
  }

  /** No more of it than was recorded: what has replaced it may be endless when decompressed. */
  async #recorded(artifact: StoredArtifact): Promise<Uint8Array | null> {
    const { key, slice } = parseAddress(artifact);
    const most = Math.max(1, artifact.size);
    if (slice === null) return await this.#readAs(resultPath(key), artifact.encoding, most);
    return await collect(await this.#openEither(key, slice, null, most));
  }

  /** A `replace` may change the encoding while we look, so there is nothing only if neither exists at one moment. */
  async #findEither<T>(path: ResultPath, look: (encoding: ContentEncoding) => Promise<T | null>): Promise<T | null> {
    for (;;) {
      for (const encoding of ['identity', 'gzip'] as const) {
        const found = await look(encoding);
        if (found !== null) return found;
      }
      if (this.#isThere(path)) continue;
      // Nothing is found either if the whole store is gone: that says nothing about what was put.
      this.#root.check();
      return null;
    }
  }

  /** `most` is the limit for a slice that is unpacked. */
  #openEither(
    key: string,
    slice: Slice | null,
    range: ByteRange | null,
    most?: number,
  ): Promise<AsyncIterable<Uint8Array> | null> {
    const path = resultPath(key);
    return this.#findEither(path, async (encoding) => {
      const body = encoding === 'identity' ? await this.#seen(key, path) : await this.#unpacked(path);
      if (body === null) return null;
      if (slice === null) return body.pieces(cutRange(range, body.size));
      const within = locateSlice(key, slice, body.size);
      if (slice.encoding === 'identity') return body.pieces(cutWithin(within, range));
      return heldBody(await unpack(Buffer.concat(await Array.fromAsync(body.pieces(within))), most)).pieces(range);
    });
  }

  async #seen(key: string, path: ResultPath): Promise<OpenBody | null> {
    const folder = this.#folders.find(path.folders);
    if (folder === null) return null;
    const file = await unlessMissing(seeFile(join(folder, path.names.identity)));
    return file === null ? null : fileBody(key, file);
  }

  /** What is kept packed is unpacked here and now, whole: it was whole in memory when it was put, too. */
  async #unpacked(path: ResultPath): Promise<OpenBody | null> {
    const body = await this.#readAs(path, 'gzip');
    return body === null ? null : heldBody(body);
  }

  #isThere(path: ResultPath): boolean {
    const folder = this.#folders.find(path.folders);
    if (folder === null) return false;
    return Object.values(path.names).some((name) => this.#isFile(join(folder, name)));
  }

  async #readAs(path: ResultPath, encoding: ContentEncoding, maxOutputLength?: number): Promise<Uint8Array | null> {
    const folder = this.#folders.find(path.folders);
    if (folder === null) return null;
    const bytes = await unlessMissing(wholeFile(join(folder, path.names[encoding])));
    if (bytes === null || encoding === 'identity') return bytes;
    return await unpack(bytes, maxOutputLength);
  }

  #isFile(path: string): boolean {
    return this.#disk.lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  }
}

/** A decoded body of a known size, to be read in pieces as often as wanted. */
interface OpenBody {
  readonly size: number;
  pieces(range: ByteRange | null): AsyncIterable<Uint8Array>;
}

function heldBody(bytes: Uint8Array): OpenBody {
  return {
    size: bytes.byteLength,
    pieces: (range) => ({ [Symbol.asyncIterator]: () => streamBytes(bytes, cutRange(range, bytes.byteLength)) }),
  };
}

function fileBody(key: string, file: SeenFile): OpenBody {
  return {
    size: file.size,
    pieces: (range) => ({
      async *[Symbol.asyncIterator]() {
        try {
          yield* streamFile(file, cutRange(range, file.size));
        } catch (error) {
          const isOther = errorCode(error) === null || errorCode(error) === 'ENOENT';
          if (isOther) throw new Error(`the bytes under ${key} are not those that were opened`, { cause: error });
          throw cannotRead(key, error);
        }
      },
    }),
  };
}

async function collect(body: AsyncIterable<Uint8Array> | null): Promise<Uint8Array | null> {
  return body === null ? null : Buffer.concat(await Array.fromAsync(body));
}

async function wholeFile(path: string): Promise<Uint8Array> {
  await using handle = await open(path, TO_READ);
  return await handle.readFile();
}

async function unlessMissing<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'EISDIR') return null;
    throw error;
  }
}

function cannotRead(key: string, error: unknown): unknown {
  if (isDamage(error)) return new BytesDamaged(key, error);
  return asStorageTrouble(error, `cannot read ${key}`);
}

/** What unpacking says of a file that is short, empty, or something else; and a link where a file should be. */
export function isDamage(error: unknown): boolean {
  const code = errorCode(error);
  return code !== null && (code.startsWith('Z_') || code === 'ERR_BUFFER_TOO_LARGE' || code === 'ELOOP');
}
