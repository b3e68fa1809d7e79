import type { ResultLinks } from '../../ports/result-store.ts';
import { type DownloadRequest, hasAlready, safeContentType } from './download.ts';
import { fileNameOf } from './download-name.ts';

export interface LinkRequest extends Pick<DownloadRequest, 'itemId' | 'artifact'> {
  readonly links: ResultLinks;
  readonly headers: DownloadRequest['headers'] & { readonly acceptEncoding?: string | undefined };
}

/** A redirected client fetches the file at once; a link that leaks is soon useless. */
const EXPIRES_SECONDS = 300;

/**
 * Where a client may fetch the bytes of an artifact directly, with the name and type that `download` gives them; null
 * if the stored bytes are not what it asked for.
 */
export async function downloadLink({ itemId, artifact, links, headers }: LinkRequest): Promise<string | null> {
  if (hasAlready(artifact, headers.ifNoneMatch) || !isAsAsked({ artifact, headers })) return null;
  return links.presign(artifact, {
    expiresSeconds: EXPIRES_SECONDS,
    fileName: fileNameOf(itemId, artifact),
    contentType: safeContentType(artifact.contentType),
  });
}

function isAsAsked({ artifact, headers }: Pick<LinkRequest, 'artifact' | 'headers'>): boolean {
  // Our ETag is not the one that the bytes have there.
  if (headers.ifRange !== undefined) return false;
  // A range would refer to the compressed bytes there.
  return artifact.encoding === 'identity' || (headers.range === undefined && acceptsGzip(headers.acceptEncoding));
}

/**
 * Without the header anything is allowed, by the standard; but clients that send none, like curl, do not decompress
 * either.
 */
function acceptsGzip(header = ''): boolean {
  const weights = new Map(
    header.split(',').map((each) => {
      const [coding = '', weight = ''] = each.split(';', 2);
      return [coding.trim().toLowerCase(), !/^\s*q\s*=\s*0(?:\.0*)?\s*$/i.test(weight)];
    }),
  );
  return weights.get('gzip') ?? weights.get('*') ?? false;
}
