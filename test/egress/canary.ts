import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SystemClock } from '../../src/adapters/system/clock.ts';
import { parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import { openWeb, type WebDeps } from '../../src/egress/open-web.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import { DEFAULT_LIMITS, type Web } from '../../src/egress/web.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';

/** A server that counts its connections. A canary is one that should never have any. */
export interface Counted extends AsyncDisposable {
  readonly address: string;
  readonly port: number;
  /** Connections, whether or not anything was asked over them. */
  readonly connections: () => number;
}

export function startCanary(address: string, port = 0): Promise<Counted> {
  const server = createServer((_request, response) => response.end('canary'));
  return started(server, address, port);
}

/** A site that redirects requests for `/to/<status>/<url>` to that URL. No connection to it is used twice. */
export function startSite(address: string, port = 0): Promise<Counted> {
  const server = createServer((request, response) => {
    const [, status, url] = /^\/to\/(\d+)\/(.*)$/.exec(request.url ?? '') ?? [];
    response.setHeader('connection', 'close');
    if (url !== undefined) response.writeHead(Number(status), { location: decodeURIComponent(url) });
    response.end('site');
  });
  return started(server, address, port);
}

async function started(server: Server, address: string, port: number): Promise<Counted> {
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  await once(server.listen(port, address), 'listening');
  return {
    address,
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The real clock, which can be moved ahead, so that DNS answers grow old without a wait. */
export class HurriedClock extends SystemClock {
  #ahead = 0;

  override elapsed(): number {
    return super.elapsed() + this.#ahead;
  }

  hurry(ms: number): void {
    this.#ahead += ms;
  }
}

export interface Traveller extends AsyncDisposable {
  /** Who answered, `site` or `canary`, or the type of the failure. */
  visit(url: string, method?: 'GET' | 'POST'): Promise<string>;
  forgetNames(): void;
}

/** The way to the web as the product builds it, with a DNS of ours. */
export function openTraveller(allowed: string, names: Pick<WebDeps, 'lookup' | 'dnsServers'>): Traveller {
  const clock = new HurriedClock();
  const rules = new AddressRules(parseAddressRanges(allowed));
  const web = openWeb({ rules, routes: parseRoutes(''), clock, ...names });
  return {
    visit: (url, method = 'GET') => visit(web, url, method),
    forgetNames: () => clock.hurry(60_000),
    [Symbol.asyncDispose]: () => web.close(),
  };
}

async function visit(web: Web, url: string, method: 'GET' | 'POST'): Promise<string> {
  const body = method === 'POST' ? Buffer.from('a=b') : null;
  const answer = await web.send(
    { method, url, headers: {}, body },
    {
      cookies: { header: () => null, keep: () => undefined },
      deadlines: { connectMs: 10_000, firstByteMs: 10_000, silenceMs: 10_000, totalMs: 20_000 },
      limits: DEFAULT_LIMITS,
      exit: { dialer: 'direct', session: '' },
      checkHost: () => undefined,
      gate: OPEN_GATE,
      patienceMs: 10_000,
      sink: null,
      signal: new AbortController().signal,
    },
  );
  return answer.kind === 'failed' ? answer.failure.type : Buffer.from(answer.body).toString();
}

/** URLs that all lead to this canary, by one spelling or another. */
export function spellings({ address, port }: Counted): string[] {
  if (address.includes(':')) return [`http://[${address}]:${port}/`, `http://[0:0:0:0:0:0:0:1]:${port}/`];
  const bytes = address.split('.').map(Number);
  const number = bytes.reduce((sum, value) => sum * 256 + value, 0);
  return [
    `http://${address}:${port}/`,
    `http://${number}:${port}/`,
    `http://0x${number.toString(16)}:${port}/`,
    `http://${bytes.map((value) => `0${value.toString(8)}`).join('.')}.:${port}/`,
    `http://93.184.216.34@${address}:${port}/`,
    `http:\\\\${address}:${port}\\@93.184.216.34/`,
    `http://[::ffff:${address}]:${port}/`,
  ];
}

/** What each visit came to. */
export interface Report {
  readonly direct: readonly string[];
  readonly redirected: readonly string[];
  readonly renamed: readonly string[];
}

/**
 * The three ways to a canary: its own address, a redirect from a site that may be visited, and a name that answers first
 * with that site and then with the canary, or with both at once (see `answersFor`).
 */
export async function tryAllWays(traveller: Traveller, site: Counted, canary: Counted): Promise<Report> {
  const direct: string[] = [];
  const redirected: string[] = [];
  const renamed: string[] = [];
  const start = `http://${site.address}:${site.port}`;
  for (const url of spellings(canary)) {
    direct.push(await traveller.visit(url));
    const once = `${start}/to/302/${encodeURIComponent(url)}`;
    redirected.push(await traveller.visit(once));
    redirected.push(await traveller.visit(`${start}/to/301/${encodeURIComponent(once)}`));
    redirected.push(await traveller.visit(`${start}/to/307/${encodeURIComponent(url)}`, 'POST'));
  }
  // The port is one for both, as it is for a page that was loaded from the site and asks its own name again.
  const named = (name: string) => `http://${name}:${canary.port}/`;
  if ((await traveller.visit(named(NAMES.changing))) !== 'site') throw new Error('the name did not lead to the site');
  traveller.forgetNames();
  renamed.push(await traveller.visit(named(NAMES.changing)));
  renamed.push(await traveller.visit(named(NAMES.mixed)));
  renamed.push(await traveller.visit(named(NAMES.inside)));
  const onward = `${start}/to/302/${encodeURIComponent(named(NAMES.inside))}`;
  renamed.push(await traveller.visit(onward));
  return { direct, redirected, renamed };
}

export const NAMES = { changing: 'changing.test', mixed: 'mixed.test', inside: 'inside.test' };

/** What DNS answers to 0-based question number `asked` for this name. */
export function answersFor(name: string, asked: number, site: string, canary: string): readonly string[] {
  if (name === NAMES.changing) return [asked === 0 ? site : canary];
  if (name === NAMES.mixed) return [site, canary];
  return name === NAMES.inside ? [canary] : [];
}
