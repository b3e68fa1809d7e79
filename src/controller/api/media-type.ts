import { Problem } from '../../contract/problem.ts';

/** The media type of a Content-Type header without its parameters, in lower case; empty if there is none. */
export function mediaTypeOf(contentType: string | null): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
}

/** A missing body gets its own message. */
export function requireJson(header: (name: string) => string | null): void {
  const type = header('content-type');
  if (mediaTypeOf(type) === 'application/json') return;
  if (type === null && header('transfer-encoding') === null && Number(header('content-length') ?? 0) === 0) {
    throw new Problem('malformed_request', 'The request has no body: send JSON with Content-Type: application/json.');
  }
  throw new Problem('unsupported_media_type', 'Send JSON with Content-Type: application/json.');
}
