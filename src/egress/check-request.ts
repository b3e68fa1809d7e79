import type { WebRequest } from './web.ts';

/**
 * These describe how a message is carried, or belong to the cookie book. Set by a caller, they would break one or the
 * other.
 */
const OURS: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect'],
  ...['cookie', 'cookie2'],
]);

/** Throws for a request that its caller should not have made. That is a bug there, not a failure of the web. */
export function checkRequest({ headers }: WebRequest): void {
  for (const name in headers) {
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) throw new Error(`"${name}" is not a header name in lower case`);
    if (OURS.has(name) || name.startsWith('proxy-'))
      throw new Error(`the header ${name} must not be set by the caller`);
    checkHeaderValue(name, headers[name] ?? '');
  }
}

/** Checks every value, including our own: a line break in one would begin another header, or another request. */
export function checkHeaderValue(name: string, value: string): void {
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
    throw new Error(`the header ${name} contains a character that is not allowed`);
}
