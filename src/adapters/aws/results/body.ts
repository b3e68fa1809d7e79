import { hash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gunzip, gzip } from 'node:zlib';
import { GetObjectCommand, type GetObjectCommandOutput, HeadObjectCommand } from '@aws-sdk/client-s3';
import { errorCode } from '../../../domain/error-code.ts';
import {
  type ByteRange,
  type ContentEncoding,
  cutRange,
  cutWithin,
  locateSlice,
  type Slice,
} from '../../../domain/result-address.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import type { BucketCalls } from './calls.ts';
import { instead, resultError } from './errors.ts';

/** A body that sends nothing for this long, while a reader waits for it, is given up. */
const SILENCE_MS = 30_000;
/** The SDK retries until the first byte. We handle connections that break later. */
const WHOLE_TRIES = 3;
/** As in the embedded store: compared with the default, half the time and 7% more space. */
const LEVEL = 3;
const PIECE_BYTES = 64 * 1024;

const packElsewhere = promisify(gzip);
const unpackElsewhere = promisify(gunzip);

export function pack(body: Uint8Array): Promise<Uint8Array> {
  return packElsewhere(body, { level: LEVEL });
}

/** What a bucket says about an object. Size and hash are of the decoded bytes; null if others put it there. */
export interface SeenObject {
  readonly etag: string | undefined;
  readonly encoding: ContentEncoding;
  /** As stored, encoded or not. */
  readonly length: number;
  readonly size: number | null;
  readonly sha256: string | null;
}

/** Reads objects of a bucket. */
export class Bodies {
  readonly #calls: BucketCalls;

  constructor(calls: BucketCalls) {
    this.#calls = calls;
  }

  async see(key: string): Promise<SeenObject | null> {
    const command = new HeadObjectCommand({ Bucket: this.#calls.bucket, Key: key });
    const about = await this.#calls.call(reading(key), (options) =>
      this.#calls.s3.send(command, options).catch(instead({ missing: null })),
    );
    return about === null ? null : seen(key, about);
  }

  /** All of it, decoded and compared with its hash. */
  whole(key: string): Promise<Uint8Array | null> {
    return triedAgain(async () => {
      const answer = await this.#get(key, {});
      return answer === null || answer === 'changed' ? null : await this.#decodedWhole(key, answer);
    });
  }

  /** All of a slice, decoded. The hash of the object says nothing about it. */
  wholeSlice(key: string, slice: Slice): Promise<Uint8Array | null> {
    return triedAgain(async () => {
      const object = await this.see(key);
      if (object === null) return null;
      return Buffer.concat(await Array.fromAsync(await this.openSlice(key, object, slice, null)));
    });
  }

  /** A slice of the object that was seen. That the object ends before the slice shows at once. */
  async openSlice(
    key: string,
    object: SeenObject,
    slice: Slice,
    range: ByteRange | null,
  ): Promise<AsyncIterable<Uint8Array>> {
    const within = locateSlice(key, slice, await this.#sizeOf(key, object));
    const pieces =
      slice.encoding === 'identity'
        ? () => this.pieces(key, object, cutWithin(within, range))
        : () => this.#unpackedSlice(key, object, within, range);
    return { [Symbol.asyncIterator]: pieces };
  }

  /** Reads exactly the object that was seen, in pieces. No request is made before the first piece is read. */
  async *pieces(key: string, object: SeenObject, range: ByteRange | null): AsyncGenerator<Uint8Array> {
    const size = object.encoding === 'identity' ? object.length : object.size;
    const { start, end } = cutRange(range, size ?? Number.MAX_SAFE_INTEGER);
    if (start === end) return;
    if (object.encoding === 'identity') yield* this.#piecesOf(key, object, { start, end });
    else yield* cut(key, this.#unpacked(key, object), { start, end }, size);
  }

  async *#unpackedSlice(key: string, object: SeenObject, slice: ByteRange, range: ByteRange | null) {
    const packed = Buffer.concat(await Array.fromAsync(this.pieces(key, object, slice)));
    const body = await unpackWhole(key, packed);
    const { start, end } = cutRange(range, body.byteLength);
    for (let at = start; at < end; at += PIECE_BYTES) yield body.subarray(at, Math.min(at + PIECE_BYTES, end));
  }

  /** An object that others have packed does not say how much is in it. */
  async #sizeOf(key: string, object: SeenObject): Promise<number> {
    const size = object.encoding === 'identity' ? object.length : object.size;
    if (size !== null) return size;
    let counted = 0;
    for await (const piece of this.pieces(key, object, null)) counted += piece.byteLength;
    return counted;
  }

  async *#piecesOf(key: string, object: SeenObject, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
    const isWhole = start === 0 && end === object.length;
    const asked = isWhole ? {} : { Range: `bytes=${start}-${end - 1}` };
    const answer = await this.#getSame(key, object, asked);
    yield* this.#received(key, answer, end - start);
  }

  async *#unpacked(key: string, object: SeenObject): AsyncGenerator<Uint8Array> {
    const answer = await this.#getSame(key, object, {});
    const unpacking = createGunzip({ chunkSize: PIECE_BYTES });
    // Ends with whichever ends first: a reader that leaves destroys the socket, and a broken line ends the reading.
    pipeline(Readable.from(this.#received(key, answer, object.length)), unpacking, () => {});
    try {
      yield* unpacking;
    } catch (error) {
      throw isDamage(error) ? damaged(key, error) : error;
    }
  }

  async #decodedWhole(key: string, answer: GetObjectCommandOutput): Promise<Uint8Array> {
    const object = seen(key, answer);
    const bytes = Buffer.concat(await Array.fromAsync(this.#received(key, answer, object.length)));
    const body = object.encoding === 'gzip' ? await unpackWhole(key, bytes) : bytes;
    if (object.sha256 !== null && hash('sha256', body) !== object.sha256) throw damaged(key);
    return body;
  }

  async #getSame(key: string, { etag }: SeenObject, asked: { readonly Range?: string }) {
    const answer = await this.#get(key, { ...asked, ...(etag === undefined ? {} : { IfMatch: etag }) });
    if (answer === null || answer === 'changed') {
      throw new Error(`the bytes under ${key} are not those that were opened`);
    }
    return answer;
  }

  #get(key: string, asked: { readonly Range?: string; readonly IfMatch?: string }) {
    const command = new GetObjectCommand({ Bucket: this.#calls.bucket, Key: key, ...asked });
    return this.#calls.call(reading(key), (options) =>
      this.#calls.s3.send(command, options).catch(instead({ missing: null, taken: 'changed' as const })),
    );
  }

  /** As many bytes as promised, or an error. A reader that stops closes the connection. */
  async *#received(key: string, answer: GetObjectCommandOutput, length: number): AsyncGenerator<Uint8Array> {
    const { Body: body, ContentLength: promised } = answer;
    if (!(body instanceof Readable)) throw new Error(`cannot read ${key}: the answer has no body`);
    if (promised !== undefined && promised !== length) {
      body.destroy();
      throw new StorageTrouble('io', `cannot read ${key}: ${promised} bytes are offered, and ${length} were asked for`);
    }
    let missing = length;
    try {
      for await (const piece of this.#withoutSilence(key, body)) {
        missing -= piece.byteLength;
        if (missing < 0) break;
        yield piece;
      }
    } catch (error) {
      throw resultError(error, { ...reading(key), bucket: this.#calls.bucket });
    } finally {
      body.destroy();
    }
    if (missing !== 0) {
      throw new StorageTrouble('io', `cannot read ${key}: not ${length} bytes came, but ${length - missing}`);
    }
  }

  /** Only the server's silence counts: a reader may take its time. */
  async *#withoutSilence(key: string, body: Readable): AsyncGenerator<Uint8Array> {
    const pieces: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
    for (;;) {
      const heard = new AbortController();
      void this.#calls.clock.sleep(SILENCE_MS, heard.signal).then(() => {
        if (heard.signal.aborted) return;
        body.destroy(new StorageTrouble('io', `cannot read ${key}: nothing came for ${SILENCE_MS / 1000} s`));
      });
      const next = await pieces.next().finally(() => heard.abort());
      if (next.done) return;
      yield next.value;
    }
  }
}

async function triedAgain<T>(read: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof StorageTrouble) || tries === WHOLE_TRIES) throw error;
    }
  }
}

/** From a body that is unpacked, only the range; and the error if it ends before its time. */
async function* cut(
  key: string,
  pieces: AsyncIterable<Uint8Array>,
  { start, end }: ByteRange,
  size: number | null,
): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const piece of pieces) {
    const wanted = piece.subarray(Math.max(0, start - at), Math.max(0, end - at));
    at += piece.byteLength;
    if (wanted.byteLength > 0) yield wanted;
    // A body that was read to its end is checked to its end.
    if (at >= end && end !== size) return;
  }
  if (size !== null && at !== size) throw damaged(key);
}

function reading(key: string) {
  return { what: `cannot read ${key}`, action: 's3:GetObject' } as const;
}

type Told = Pick<GetObjectCommandOutput, 'ETag' | 'ContentEncoding' | 'ContentLength' | 'Metadata'>;

function seen(key: string, { ETag, ContentEncoding, ContentLength, Metadata = {} }: Told): SeenObject {
  if (ContentLength === undefined) throw new Error(`cannot read ${key}: the server does not say how long it is`);
  const { sha256, size } = Metadata;
  return {
    etag: ETag,
    encoding: ContentEncoding?.split(',').some((name) => name.trim() === 'gzip') ? 'gzip' : 'identity',
    length: ContentLength,
    size: size !== undefined && /^\d{1,15}$/.test(size) ? Number(size) : null,
    sha256: sha256 !== undefined && /^[0-9a-f]{64}$/.test(sha256) ? sha256 : null,
  };
}

async function unpackWhole(key: string, bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return await unpackElsewhere(bytes);
  } catch (error) {
    throw isDamage(error) ? damaged(key, error) : error;
  }
}

/** Errors of decompression for bytes that are too few, or something else. */
function isDamage(error: unknown): boolean {
  return errorCode(error)?.startsWith('Z_') ?? false;
}

function damaged(key: string, cause?: unknown): Error {
  return new Error(`the bytes under ${key} are damaged`, { cause });
}
