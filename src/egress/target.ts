import { isIP } from 'node:net';
import { type Failure, failure } from '../domain/failure.ts';

/** A parsed URL that may be requested. The resolver decides whether its address may be dialled. */
export interface Target {
  readonly kind: 'target';
  /** Without user, password and fragment: fit for a request, a log and a ledger. */
  readonly url: string;
  readonly origin: string;
  readonly protocol: 'http:' | 'https:';
  /** As the URL parser writes it: lower case, punycode, IPv4 as four numbers; IPv6 without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Whether the host is an address, not a name. */
  readonly isLiteral: boolean;
  /** The header equivalent to user and password in the URL. */
  readonly authorization: string | null;
}

interface TargetFailed {
  readonly kind: 'failed';
  readonly failure: Failure;
}

/** The longest that servers and caches accept; longer ones are a mistake or an attack. */
export const MAX_URL_LENGTH = 8 * 1024;

/**
 * The URL parser of browsers (WHATWG) decides once what the host is, and everything else uses its result: two parsers
 * that read `http://1.1.1.1\@127.0.0.1/` differently are how address checks are bypassed.
 */
export function parseTarget(text: string): Target | TargetFailed {
  if (text.length > MAX_URL_LENGTH) return refused(`a URL of ${text.length} characters is too long`);
  const url = URL.parse(text);
  if (url === null)
    return { kind: 'failed', failure: failure('navigation_failed', `"${withoutSecrets(text)}" is not a URL`) };
  const { protocol } = url;
  if (protocol !== 'http:' && protocol !== 'https:') {
    return refused(`${protocol} is not supported: only http: and https: are`);
  }
  // Text that is not ASCII grows when it is escaped.
  if (url.href.length > MAX_URL_LENGTH) return refused(`a URL of ${url.href.length} characters is too long`);
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (hostname.replaceAll('.', '') === '') return refused(`"${withoutSecrets(text)}" names no host`);
  const port = url.port === '' ? DEFAULT_PORTS[protocol] : Number(url.port);
  if (port === 0) return refused(`"${withoutSecrets(text)}" names port 0, which is not valid`);

  const authorization = basic(url.username, url.password);
  if (authorization !== null) {
    url.username = '';
    url.password = '';
  }
  // Not by checking the fragment: an empty one leaves its `#`.
  if (url.href.includes('#')) url.hash = '';
  return {
    kind: 'target',
    url: url.href,
    origin: url.origin,
    protocol,
    hostname,
    port,
    isLiteral: isIP(hostname) !== 0,
    authorization,
  };
}

const DEFAULT_PORTS = { 'http:': 80, 'https:': 443 } as const;

function refused(message: string): TargetFailed {
  return { kind: 'failed', failure: failure('refused_address', message) };
}

function basic(user: string, password: string): string | null {
  if (user === '' && password === '') return null;
  return `Basic ${Buffer.from(`${unescaped(user)}:${unescaped(password)}`).toString('base64')}`;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A lone `%` is literal.
    return text;
  }
}

const SHOWN_LENGTH = 200;

/** For a message: shortened, and without anything that may be a password. */
function withoutSecrets(text: string): string {
  const safe = text.replace(/^([a-z][a-z\d+.-]*:[/\\]*)?.*@/is, '$1…@');
  return safe.length <= SHOWN_LENGTH ? safe : `${safe.slice(0, SHOWN_LENGTH)}…`;
}
