import type { Failure } from '../domain/failure.ts';

/**
 * Whether a name that could not be looked up here may be left to a proxy. Names of internal networks may not: the proxy
 * may be in such a network, where the address rules would have refused the result.
 */
export function mayBeKnownElsewhere(hostname: string, { type }: Pick<Failure, 'type'>): boolean {
  if (type !== 'network_error' && type !== 'timeout') return false;
  const labels = hostname.replace(/\.$/, '').split('.');
  return labels.length > 1 && hostname.length <= MAX_NAME_LENGTH && !INNER.has(labels.at(-1) ?? '');
}

/** The limit of DNS, and less than that of SOCKS5. */
const MAX_NAME_LENGTH = 253;

/**
 * Top-level domains reserved for, or used in, networks of companies and homes (RFC 6761, RFC 6762, RFC 8375, ICANN).
 */
const INNER: ReadonlySet<string> = new Set([
  ...['localhost', 'local', 'internal', 'intranet', 'lan', 'home', 'corp', 'private', 'localdomain', 'arpa', 'onion'],
]);
