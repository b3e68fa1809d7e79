import { Transform, type TransformCallback } from 'node:stream';
import {
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { errorCode } from '../domain/error-code.ts';
import { type Failure, failure } from '../domain/failure.ts';
import { GunzipStream } from './gunzip-stream.ts';
import { gunzipMembers, TooManyMembers } from './gzip-members.ts';

/**
 * Undoes content codings, under limits that act while the bytes come out. A hundred bytes can inflate to a hundred MiB, so
 * besides the limit on the total there is one on the ratio: above a few MiB, nothing may grow more than 400 times.
 */
export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd';

type Codings =
  | { readonly kind: 'codings' /** In the order they were applied. */; readonly codings: readonly Coding[] }
  | { readonly kind: 'failed'; readonly failure: Failure };

type Inflated =
  | { readonly kind: 'inflated'; readonly body: Uint8Array }
  /** Too large to inflate without blocking the thread: inflate it piece by piece. */
  | { readonly kind: 'large' }
  | { readonly kind: 'failed'; readonly failure: Failure };

const NAMES: Readonly<Record<string, Coding>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'br',
  zstd: 'zstd',
};

/** Two occur if a proxy compresses compressed content. More are an attack. */
const MAX_CODINGS = 2;

const FREE_BYTES = 4 << 20;
/** HTML with long tables reaches 40 times with gzip; gzip itself cannot exceed about 1,000, the others can. */
const MAX_RATIO = 400;

/** What may be inflated at once: some ten milliseconds of work. */
const MAX_RAW_IN_ONE_GO = 128 * 1024;
const MAX_BYTES_IN_ONE_GO = FREE_BYTES;

export function parseCodings(contentEncoding: string | undefined): Codings {
  if (contentEncoding === undefined || contentEncoding === '') return NONE;
  const names = contentEncoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length > MAX_CODINGS) {
    return failed(failure('too_large', `the body is encoded ${names.length} times, ${MAX_CODINGS} are the limit`));
  }
  const codings: Coding[] = [];
  for (const name of names) {
    const coding = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
    if (coding === undefined) {
      return failed(failure('server_error', `the body has an encoding that we do not accept: ${name.slice(0, 100)}`));
    }
    codings.push(coding);
  }
  return { kind: 'codings', codings };
}

const NONE: Codings = { kind: 'codings', codings: [] };

/** Why this many bytes must not come out of so few; null if they may. */
export function overflow(bytes: number, rawBytes: number, limit: number): Failure | null {
  if (bytes > limit) return failure('too_large', `the body is larger than ${limit} bytes once it is inflated`);
  if (bytes <= FREE_BYTES || bytes <= MAX_RATIO * rawBytes) return null;
  return failure('too_large', `${rawBytes} bytes of the body inflate to more than ${MAX_RATIO} times as many`);
}

export function isLarge(rawBytes: number): boolean {
  return rawBytes > MAX_RAW_IN_ONE_GO;
}

/** Inflates a whole body that is not large. */
export function inflate(raw: Uint8Array, codings: readonly Coding[], limit: number): Inflated {
  if (raw.length === 0) return { kind: 'inflated', body: raw };
  let body = raw;
  const maxOutputLength = Math.min(limit, MAX_BYTES_IN_ONE_GO);
  try {
    for (const coding of codings.toReversed()) body = inflateOnce(coding, body, maxOutputLength);
  } catch (error) {
    if (errorCode(error) !== 'ERR_BUFFER_TOO_LARGE') return failed(corrupt(codings, error));
    const over = overflow(maxOutputLength + 1, raw.length, limit);
    return over === null ? { kind: 'large' } : failed(over);
  }
  return { kind: 'inflated', body };
}

/** The streams that undo the codings, in the order in which to apply them. */
export function inflaters(codings: readonly Coding[]): Transform[] {
  return codings.toReversed().map(inflater);
}

export function corrupt(codings: readonly Coding[], error: unknown): Failure {
  if (error instanceof TooManyMembers) return failure('too_large', error.message);
  return failure('network_error', `the body is not whole, or not ${codings.join(' in ')} as it says`, { cause: error });
}

function inflateOnce(coding: Coding, bytes: Uint8Array, maxOutputLength: number): Uint8Array {
  switch (coding) {
    case 'gzip':
      return gunzipMembers(bytes, { maxOutputLength, chunkSize: CHUNK_SIZE });
    case 'deflate':
      return isZlib(bytes) ? inflateSync(bytes, { maxOutputLength }) : inflateRawSync(bytes, { maxOutputLength });
    case 'br':
      return brotliDecompressSync(bytes, { maxOutputLength, chunkSize: CHUNK_SIZE });
    case 'zstd':
      return zstdDecompressSync(bytes, { ...ZSTD, maxOutputLength, chunkSize: CHUNK_SIZE });
  }
}

function inflater(coding: Coding): Transform {
  switch (coding) {
    case 'gzip':
      return new GunzipStream({ chunkSize: CHUNK_SIZE });
    case 'deflate':
      return new EitherDeflate();
    case 'br':
      return createBrotliDecompress({ chunkSize: CHUNK_SIZE });
    case 'zstd':
      return createZstdDecompress({ ...ZSTD, chunkSize: CHUNK_SIZE });
  }
}

/** Most pages fit into two of these. */
const CHUNK_SIZE = 64 * 1024;

/** The first bytes of a frame may ask for a window of 128 MiB. On the web, 8 MiB are the limit (RFC 9659). */
const ZSTD = { params: { [constants.ZSTD_d_windowLogMax]: 23 } };

/** "deflate" means zlib, but many servers send bare deflate. The low half of zlib's first byte is always 8. */
function isZlib(bytes: Uint8Array): boolean {
  return ((bytes[0] ?? 0) & 0x0f) === 8;
}

class EitherDeflate extends Transform {
  #inner: Transform | null = null;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#inner ??= this.#open(chunk);
    this.#inner.write(chunk, done);
  }

  override _flush(done: TransformCallback): void {
    if (this.#inner === null) done();
    else this.#inner.once('end', done).end();
  }

  override _read(size: number): void {
    this.#inner?.resume();
    super._read(size);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#inner?.destroy();
    done(error);
  }

  #open(first: Buffer): Transform {
    const inner = isZlib(first) ? createInflate() : createInflateRaw();
    inner.on('error', (error) => this.destroy(error));
    inner.on('data', (bytes) => {
      if (!this.push(bytes)) inner.pause();
    });
    return inner;
  }
}

function failed(what: Failure): { readonly kind: 'failed'; readonly failure: Failure } {
  return { kind: 'failed', failure: what };
}
