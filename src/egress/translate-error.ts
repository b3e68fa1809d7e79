import { errorCode } from '../domain/error-code.ts';
import { type Failure, failure } from '../domain/failure.ts';

/** The connection ended before our request was sent; no server has seen any of it. */
export class ConnectionGone extends Error {
  constructor() {
    super('the connection was closed before the request was sent');
    this.name = 'ConnectionGone';
  }
}

/** Errors of sockets and TLS, in words for a person who has to do something about them. */
const MESSAGES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the server refuses connections',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  EHOSTUNREACH: 'the server is unreachable',
  ENETUNREACH: 'the server is unreachable',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is not signed by an authority that we trust',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not signed by an authority that we trust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not signed by an authority that we trust',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is not signed by an authority that we trust',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
  UND_ERR_SOCKET: 'the server closed the connection before its answer was complete',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the body is not as long as the server said',
};

/** For errors of a connection and of what it carried: unknown ones are the network's fault as well. */
export function translateError(error: unknown, connectMs: number): Failure {
  const code = errorCode(error) ?? '';
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return failure('too_large', 'the headers of the answer are too large', { cause: error });
  }
  if (code === 'ETIMEDOUT') return failure('timeout', `no connection within ${connectMs} ms`, { cause: error });
  const message =
    (Object.hasOwn(MESSAGES, code) ? MESSAGES[code] : undefined) ??
    (isParserError(error) ? 'the answer is not HTTP' : 'the connection failed');
  return failure('network_error', message, { cause: error });
}

/** Whether the other side just disappeared. */
export function isLoss(error: unknown): boolean {
  return error instanceof ConnectionGone || ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(errorCode(error) ?? '');
}

/** By its name: scraper files load this file as well, and need not load undici for its class. */
function isParserError(error: unknown): boolean {
  return error instanceof Error && error.name === 'HTTPParserError';
}
