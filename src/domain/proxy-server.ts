/** A proxy and its protocol. User and password never appear in a text: use `showProxyServer` for messages. */
export interface ProxyServer {
  /** `socks5` receives the address that we looked up and checked, `socks5h` the name. HTTP proxies receive the name. */
  readonly protocol: 'http' | 'https' | 'socks5' | 'socks5h';
  /** IPv6 without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

const DEFAULT_PORTS: Readonly<Record<ProxyServer['protocol'], number>> = {
  http: 80,
  https: 443,
  socks5: 1080,
  socks5h: 1080,
};

/** The limit of SOCKS5. */
const MAX_CREDENTIAL_BYTES = 255;

/**
 * `host:port` or `http://user:password@host:port`. Throws an Error that does not repeat the text, which contains a
 * password.
 */
export function parseProxyServer(text: string): ProxyServer {
  const given = text.trim();
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(given) ? given : `http://${given}`);
  if (url === null || url.hostname === '') throw new Error('must be an address like proxy.example.com:8080');
  const protocol = PROTOCOLS.find((each) => `${each}:` === url.protocol);
  if (protocol === undefined) throw new Error(`must begin with ${PROTOCOLS.map((each) => `${each}://`).join(', ')}`);
  if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
    throw new Error('must end with the port: a proxy has no path');
  }
  const port = url.port === '' ? DEFAULT_PORTS[protocol] : Number(url.port);
  if (port === 0) throw new Error('must have a port other than 0');
  const [user, password] = [unescaped(url.username), unescaped(url.password)];
  if (isTooLong(user) || isTooLong(password)) {
    throw new Error(`must have a user name and a password of at most ${MAX_CREDENTIAL_BYTES} bytes`);
  }
  return { protocol, hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'), port, user, password };
}

const PROTOCOLS = ['http', 'https', 'socks5', 'socks5h'] as const;

/** For messages and `trawl doctor`. */
export function showProxyServer({ protocol, hostname, port }: ProxyServer): string {
  return `${protocol}://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A lone `%` is literal.
    return text;
  }
}

function isTooLong(text: string): boolean {
  return new TextEncoder().encode(text).length > MAX_CREDENTIAL_BYTES;
}
