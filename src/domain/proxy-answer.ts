import { type Failure, type FailureType, failure } from './failure.ts';

/** An answer that came through a proxy, or from it. */
export interface ProxyAnswer {
  /**
   * Who may have answered: our CONNECT, a plain request that the proxy forwards, or a request inside a tunnel. Inside a
   * tunnel, only a proxy that decrypts can speak, so a target that sends a proxy's headers there is not believed.
   */
  readonly at: 'connect' | 'forwarded' | 'decrypted';
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** The proxy's own answer, as a failure; null if it is the target's answer, or the tunnel is open. */
export function judgeProxyAnswer({ at, status, headers }: ProxyAnswer): Failure | null {
  const said = saidBy(headers, status, at);
  if (said === null) {
    if (at !== 'connect') return null;
    if (status >= 200 && status < 300) return null;
  }
  const { code = null } = said ?? {};
  const { kind, remedy } = meaningOf(code, status, headers);
  const type = FAILURE_OF[kind];
  const shown = code ?? errorName(headers);
  const what = `the proxy answered ${status}${shown === null ? '' : ` (${shown})`}`;
  return failure(type, `${what}: ${remedy ?? REMEDIES[kind]}`, {
    retryAfterMs: kind === 'throttled' ? secondsToWait(headers['retry-after']) : null,
  });
}

type Kind = 'settings' | 'policy' | 'credentials' | 'exit' | 'throttled' | 'target';

const FAILURE_OF: Readonly<Record<Kind, FailureType>> = {
  settings: 'proxy_config',
  policy: 'proxy_config',
  credentials: 'proxy_config',
  exit: 'proxy_error',
  throttled: 'rate_limited',
  target: 'server_error',
};

const REMEDIES: Readonly<Record<Kind, string>> = {
  settings:
    'it does not accept such a request; check PROXY_URL, the zone and the policy of the job, then resume the job',
  policy: "its rules forbid this request; change them in the provider's control panel, then resume the job",
  credentials: 'it does not accept our credentials; check customer, zone and password, then resume the job',
  exit: 'it has no working exit at the moment',
  throttled: 'we send it more requests than it allows',
  target: 'it cannot reach the target',
};

interface Meaning {
  readonly kind: Kind;
  readonly remedy?: string;
}

/** Bright Data codes whose meaning does not follow from the status of the answer. The first match counts. */
const CODES: readonly (Meaning & { readonly code: RegExp })[] = [
  {
    code: /^policy_20051$/,
    kind: 'policy',
    remedy:
      'government sites are refused until the account is approved for them; ask the provider for approval, then resume the job',
  },
  {
    code: /^policy_20130$/,
    kind: 'policy',
    remedy: 'POST is refused in this zone; ask the provider to allow it, then resume the job',
  },
  {
    code: /^policy_20140$/,
    kind: 'policy',
    remedy:
      'the robots.txt of the site forbids it, which this zone follows; ask the provider for full access, then resume the job',
  },
  {
    code: /^peer_30030$/,
    kind: 'settings',
    remedy: 'it has no exits in that place; change proxy.geo_target of the job, then resume it',
  },
  { code: /^(policy_20070|client_10100|client_1006\d|client_10050)$/, kind: 'settings' },
  { code: /^(client_10110|policy_2022\d)$/, kind: 'throttled' },
  { code: /^client_(1000\d|10010|10020)$/, kind: 'credentials' },
  { code: /^(client_10120|peer_\d+)$/, kind: 'exit' },
  { code: /^target_\d+$/, kind: 'target' },
];

function meaningOf(code: string | null, status: number, headers: ProxyAnswer['headers']): Meaning {
  const known = code === null ? undefined : CODES.find((each) => each.code.test(code));
  if (known !== undefined) return known;
  // Some proxies ask for their password with 401.
  if (status === 407 || status === 401) return { kind: 'credentials' };
  if (status === 429) return { kind: 'throttled' };
  if (status === 408) return { kind: 'exit' };
  if (status === 402 || status === 403 || code?.startsWith('policy_')) return { kind: 'policy' };
  if (status >= 400 && status < 500) return { kind: 'settings' };
  return { kind: isAboutTarget(headers) ? 'target' : 'exit' };
}

interface Said {
  readonly code: string | null;
}

const BRIGHT_DATA_HEADERS = ['x-brd-err-code', 'x-brd-error-code', 'x-brd-error'];

/** Headers that only a proxy sends, even with a 200: a closed zone answers with an empty body and one of these. */
function saidBy(headers: ProxyAnswer['headers'], status: number, at: ProxyAnswer['at']): Said | null {
  const own = BRIGHT_DATA_HEADERS.map((name) => headers[name]).filter((value) => value !== undefined);
  const proxyStatus = headers['proxy-status'];
  const isProxyError = proxyStatus !== undefined && at !== 'decrypted' && isProxysOwn(proxyStatus, status);
  const values = isProxyError ? [...own, proxyStatus] : own;
  if (values.length > 0) {
    const code = values.map((value) => /\b(client|policy|peer|target)_\d+\b/.exec(value)?.[0]).find(Boolean);
    return { code: code ?? null };
  }
  return at === 'forwarded' && isCommonProxy(status, headers) ? { code: null } : null;
}

/** Answers of proxies without codes. tinyproxy signs its own pages, and adds a Via to everything it forwards. */
function isCommonProxy(status: number, { server, via, ...headers }: ProxyAnswer['headers']): boolean {
  if (status === 407 || headers['x-squid-error'] !== undefined) return true;
  return via === undefined && server !== undefined && server.startsWith('tinyproxy/');
}

/**
 * RFC 9209: a proxy that failed names an `error`. Caches in front of a site send the header with good answers, and with
 * the site's own errors, for which they name the `received-status`.
 */
function isProxysOwn(proxyStatus: string, status: number): boolean {
  if (/;\s*error\s*=/i.test(proxyStatus)) return true;
  return status >= 400 && !/;\s*received-status\s*=/i.test(proxyStatus);
}

/** Squid's and RFC 9209's names for a target that cannot be reached. */
function isAboutTarget(headers: ProxyAnswer['headers']): boolean {
  if (/^ERR_(DNS_FAIL|CONNECT_FAIL|READ_TIMEOUT|READ_ERROR|ZERO_SIZE_OBJECT)/.test(headers['x-squid-error'] ?? ''))
    return true;
  return /;\s*error\s*=\s*"?(dns_|destination_|connection_|tls_)/i.test(headers['proxy-status'] ?? '');
}

/** Only names of errors: other text from a proxy may repeat the user name and password that it was sent. */
function errorName(headers: ProxyAnswer['headers']): string | null {
  const [squid] = /^ERR_[A-Z_]{1,40}/.exec(headers['x-squid-error'] ?? '') ?? [];
  const [, standard] = /;\s*error\s*=\s*"?([a-z_]{1,40})/i.exec(headers['proxy-status'] ?? '') ?? [];
  return squid ?? standard ?? null;
}

const MAX_WAIT_SECONDS = 60;

/** A proxy's limit is per second or minute, so a longer wait is not plausible. */
function secondsToWait(retryAfter: string | undefined): number | null {
  if (retryAfter === undefined || !/^\d{1,6}$/.test(retryAfter)) return null;
  return Math.min(Number(retryAfter), MAX_WAIT_SECONDS) * 1000;
}
