import type { StoredArtifact } from '../../domain/artifact.ts';
import type { ByteRange } from '../../domain/result-address.ts';
import type { ResultStore } from '../../ports/result-store.ts';
import { askedRange } from './byte-range.ts';
import { downloadName } from './download-name.ts';

export interface DownloadRequest {
  readonly itemId: string;
  readonly artifact: StoredArtifact;
  readonly store: Pick<ResultStore, 'open'>;
  readonly headers: {
    readonly range?: string | undefined;
    readonly ifNoneMatch?: string | undefined;
    readonly ifRange?: string | undefined;
  };
}

export interface DownloadAnswer {
  readonly status: 200 | 206 | 304 | 416;
  readonly headers: Readonly<Record<string, string>>;
  /** An unread body need not be closed. It ends in an error if there is less than the headers promised. */
  readonly body: AsyncIterable<Uint8Array> | null;
}

/**
 * Content from a site never runs in the origin of our own pages: it is sent as a file to download, with exactly the
 * type it was stored with, and if a browser shows it anyway, then without scripts and in an opaque origin.
 */
const NEVER_RUN = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

/**
 * Answers a request for an artifact: the whole, a part of it, or that the client already has it. Null if its bytes are
 * gone.
 */
export async function download({ itemId, artifact, store, headers }: DownloadRequest): Promise<DownloadAnswer | null> {
  const { size, sha256, key } = artifact;
  const etag = `"${sha256}"`;
  const always = { ...NEVER_RUN, ETag: etag, 'Accept-Ranges': 'bytes', 'Cache-Control': 'private, no-cache' };
  if (hasAlready(artifact, headers.ifNoneMatch)) return { status: 304, headers: always, body: null };

  // A range is useful only to a client that has the rest of the same bytes. We send no date, so no date can match.
  const isSame = headers.ifRange === undefined || headers.ifRange.trim() === etag;
  const asked = askedRange(isSame ? headers.range : undefined, size);
  if (asked.kind === 'unsatisfiable') {
    return { status: 416, headers: { ...always, 'Content-Range': `bytes */${size}` }, body: null };
  }
  const range = asked.kind === 'part' ? asked.range : { start: 0, end: size };
  const body = await store.open(artifact, range);
  if (body === null) return null;
  const about = {
    ...always,
    'Content-Type': safeContentType(artifact.contentType),
    'Content-Disposition': downloadName(itemId, artifact),
    'Content-Length': String(range.end - range.start),
  };
  const whole = exactly(body, range, key);
  if (asked.kind === 'whole') return { status: 200, headers: about, body: whole };
  const contentRange = `bytes ${range.start}-${range.end - 1}/${size}`;
  return { status: 206, headers: { ...about, 'Content-Range': contentRange }, body: whole };
}

/** A file cut short by a crash must end as an error: the client would wait for the rest. */
function exactly(body: AsyncIterable<Uint8Array>, { start, end }: ByteRange, key: string): AsyncIterable<Uint8Array> {
  return {
    async *[Symbol.asyncIterator]() {
      let missing = end - start;
      for await (const piece of body) {
        missing -= piece.byteLength;
        if (missing < 0) break;
        yield piece;
      }
      if (missing !== 0) throw new Error(`the bytes under ${key} are not as many as were recorded`);
    },
  };
}

/** Whether `If-None-Match` names the artifact, by the weak comparison. */
export function hasAlready({ sha256 }: Pick<StoredArtifact, 'sha256'>, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || [...ifNoneMatch.matchAll(/"[^"]*"/g)].some(([tag]) => tag === `"${sha256}"`);
}

const TOKEN = "[\\w!#$%&'*+.^`|~-]{1,100}";
const MEDIA_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]{0,3};[ \\t]{0,3}${TOKEN}=(?:${TOKEN}|"[\\w !#-\\[\\]-~]{0,100}")){0,5}$`,
);

/** The type comes from a site: only well-formed ones go into a header. */
export function safeContentType(type: string): string {
  return type.length <= 300 && MEDIA_TYPE.test(type) ? type : 'application/octet-stream';
}
