import type { Target } from './target.ts';

/** Where a connection goes. */
export interface Endpoint {
  readonly protocol: 'http:' | 'https:';
  /** IPv6 without brackets. */
  readonly hostname: string;
  readonly port: number;
}

/**
 * Origins that are dialled elsewhere: a staging copy, a recorded site on this machine. Only the connection goes there.
 * URL, Host header, cookies and certificate stay those of the requested origin, and the other address is checked like
 * any other.
 */
export interface Routes {
  to(target: Pick<Target, 'origin' | 'protocol' | 'hostname' | 'port'>): Endpoint;
}

/** `https://treasurer.maricopa.gov=http://127.0.0.1:4000,http://demo-county.test=http://127.0.0.1:5000` */
export function parseRoutes(text: string): Routes {
  const endpoints = new Map<string, Endpoint>();
  for (const entry of text.trim() === '' ? [] : text.split(',')) {
    const [from = '', to = '', ...more] = entry.split('=').map((side) => side.trim());
    const [origin, other] = [parseOrigin(from), parseOrigin(to)];
    if (origin === null || other === null || more.length > 0) {
      throw new Error(
        `"${entry.trim()}" is not a route: write origin=origin, as in https://example.gov=http://127.0.0.1:4000`,
      );
    }
    if (endpoints.has(origin.origin)) throw new Error(`"${entry.trim()}" is a second route for ${origin.origin}`);
    endpoints.set(origin.origin, endpointOf(other));
  }
  return {
    to: ({ origin, protocol, hostname, port }) => endpoints.get(origin) ?? { protocol, hostname, port },
  };
}

/** A scheme, a host and optionally a port, and nothing else: a path here would be a misunderstanding. */
function parseOrigin(text: string): URL | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  return url.href === `${url.origin}/` && url.port !== '0' ? url : null;
}

function endpointOf(url: URL): Endpoint {
  const protocol = url.protocol === 'https:' ? 'https:' : 'http:';
  const port = url.port === '' ? (protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { protocol, hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'), port };
}

/** In the form for a proxy that forwards plain requests itself. */
export function endpointOrigin({ protocol, hostname, port }: Endpoint): string {
  const host = hostname.includes(':') ? `[${hostname}]` : hostname;
  return `${protocol}//${host}${port === 80 ? '' : `:${port}`}`;
}
