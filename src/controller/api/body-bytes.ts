import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Problem } from '../../contract/problem.ts';

interface BodyLimits {
  /** Limit of the body as sent; null for none. */
  readonly sentBytes: number | null;
  /** Limit of the uncompressed body, which may be a thousand times larger than what was sent. */
  readonly unpackedBytes: number;
  /** What to do about a body that is too large. */
  readonly advice?: string;
}

const FEWER_ITEMS = 'create the job with fewer items and send the others to POST /jobs/{job_id}/items';

/** The uncompressed bytes of a streamed body, within limits. */
export function bodyBytes(
  stream: AsyncIterable<Uint8Array>,
  header: (name: string) => string | null,
  { sentBytes, unpackedBytes, advice = FEWER_ITEMS }: BodyLimits,
): AsyncIterable<Uint8Array> {
  const encoding = header('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding === 'gzip' || encoding === 'x-gzip') {
    const sent = limited(stream, sentBytes, { what: 'The body', advice });
    return limited(gunzipped(sent), unpackedBytes, { what: 'The uncompressed body', advice });
  }
  if (encoding !== '' && encoding !== 'identity') throw unknownEncoding(encoding, true);
  const words = { what: 'The body', advice };
  if (sentBytes !== null && Number(header('content-length') ?? 0) > sentBytes) throw tooLarge(words, sentBytes);
  return limited(stream, sentBytes, words);
}

/** What is wrong with the encoding of a body that is parsed as a whole; null if nothing is. */
export function packedProblem(contentEncoding: string | undefined): Problem | null {
  const encoding = contentEncoding?.trim().toLowerCase() ?? '';
  return encoding === '' || encoding === 'identity' ? null : unknownEncoding(encoding, false);
}

function unknownEncoding(encoding: string, takesGzip: boolean): Problem {
  const what = takesGzip ? 'send the body uncompressed, or with Content-Encoding: gzip' : 'send the body uncompressed';
  const accepted = { 'accept-encoding': takesGzip ? 'gzip, identity' : 'identity' };
  const detail = `Content-Encoding: ${encoding} is not supported here: ${what}.`;
  return new Problem('unsupported_media_type', detail, [], accepted);
}

async function* limited(
  bytes: AsyncIterable<Uint8Array>,
  most: number | null,
  words: Words,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
    if (most !== null && size > most) throw tooLarge(words, most);
    yield piece;
  }
}

interface Words {
  readonly what: string;
  readonly advice: string;
}

function tooLarge({ what, advice }: Words, most: number): Problem {
  return new Problem('too_large', `${what} is larger than ${most} bytes (TRAWL_MAX_BODY_BYTES): ${advice}.`);
}

async function* gunzipped(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const packed = Readable.from(bytes, { objectMode: false });
  const unpacked = createGunzip();
  // Errors of either stream are thrown by the loop below.
  pipeline(packed, unpacked, () => {});
  try {
    for await (const piece of unpacked) yield piece as Uint8Array;
  } catch (error) {
    throw isOfZlib(error) ? damaged(error) : error;
  } finally {
    packed.destroy();
    unpacked.destroy();
  }
}

function isOfZlib(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}

function damaged(error: Error): Problem {
  const detail = `The body is not complete gzip data (${error.message}).`;
  return new Problem(
    'malformed_request',
    `${detail} Send it again; items that were already added are not added twice.`,
  );
}
