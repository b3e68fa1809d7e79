import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { BrowserContext, Page } from 'playwright-core';
import { haveAddresses } from '../egress/network-namespace.ts';
import { sized } from '../support/sized.ts';
import { closeBrowsers, launchChromium, openBrowser } from './open-browser.ts';
import { PROVEN, TRIED, WAYS_OUT } from './ways-out.ts';

export interface Findings {
  readonly attempts: number;
  /** What the canaries saw with the rules as they are. */
  readonly guarded: Sighting;
  /** The same with all canaries allowed. */
  readonly allowed: Sighting;
  /** The same for a browser with the usual way to the web: canaries also see what goes past proxies. */
  readonly bare: Sighting;
}

interface Sighting {
  /** Everything that arrived: `tcp 127.0.0.1:80`, `udp …`. */
  readonly seen: readonly string[];
  /** Ways that got as far as a request. */
  readonly ways: readonly string[];
  /** Targets that were asked by one way or another. */
  readonly targets: readonly string[];
  /** Pages of the site that were loaded. */
  readonly pages: number;
}

const SITE = '93.184.216.34';
const PRIVATE = ['10.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.100.100.200'];
const LOOPBACK = ['127.0.0.1', '::1'];

/** Hosts in URLs, all of which lead to a canary. The first are tried by ways that are slow, too. */
const TARGETS: readonly string[] = [
  ...['127.0.0.1', '169.254.169.254', '[::1]', 'inside.test', '10.0.0.1'],
  ...['localhost', 'localhost.', 'a.localhost', '2130706433', '0x7f000001', '0177.0.0.1', '127.1', '0.0.0.0'],
  ...['[::ffff:127.0.0.1]', '[::ffff:a9fe:a9fe]', '2852039166', '172.16.0.1', '192.168.1.1', '100.100.100.200'],
  ...['mixed.test', 'metadata.test', 'site.test@127.0.0.1', '①②⑦.0.0.1', '127。0。0。1'],
];
const FEW = 5;

const NAMES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(['localhost', 'localhost.', 'a.localhost'].map((name) => [name, ['127.0.0.1']])),
  'site.test': [SITE],
  'inside.test': ['127.0.0.1'],
  'mixed.test': [SITE, '127.0.0.1'],
  'metadata.test': ['169.254.169.254'],
};

/** A frame or a pop-up of another site is a process of its own. */
function targetsOf(way: string, isWholeTable: boolean): readonly string[] {
  if (!isWholeTable) return way === 'fetch' ? TARGETS : TARGETS.slice(0, FEW);
  const isHeavy = /popup|download|worker|frame|location|refresh|object|embed|form|rtc|base|transformed/.test(way);
  return isHeavy ? TARGETS.slice(0, FEW) : TARGETS;
}

/** Both the way and the target are in the path, so that a canary can tell who came. */
function urlFor(way: string, target: string): string {
  return `http://${target}/w/${way}/${TARGETS.indexOf(target)}`;
}

class Canaries implements AsyncDisposable {
  readonly seen = new Set<string>();
  readonly ways = new Set<string>();
  readonly targets = new Set<string>();
  readonly #ends: (() => void)[] = [];

  async watch(address: string): Promise<void> {
    const http = createServer((request, response) => {
      const [, way = '', target = ''] = /\/w\/([^/]+)\/(\d+)/.exec(request.url ?? '') ?? [];
      this.ways.add(way);
      this.targets.add(TARGETS[Number(target)] ?? '');
      response
        .writeHead(200, { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' })
        .end('canary');
    });
    const tls = createTcpServer((socket) => socket.destroy());
    for (const [server, port] of [[http, 80] as const, [tls, 443] as const]) {
      server.on('connection', () => this.seen.add(`tcp ${address} ${port}`));
      await once(server.listen(port, address), 'listening');
      this.#ends.push(() => server.close());
    }
    this.#ends.push(() => http.closeAllConnections());
    for (const port of [53, 80, 443]) {
      const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4', () =>
        this.seen.add(`udp ${address} ${port}`),
      );
      await once(socket.bind(port, address), 'listening');
      this.#ends.push(() => socket.close());
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#ends) end();
  }
}

function serveSite(request: IncomingMessage, response: ServerResponse, isWholeTable: boolean): void {
  const [, kind = '', rest = ''] = /^\/([a-z-]*)[/?]?(.*)$/.exec(request.url ?? '') ?? [];
  const url = decodeURIComponent(rest);
  const script = { 'content-type': 'text/javascript' };
  const page = { 'content-type': 'text/html; charset=utf-8' };
  const fetching = `fetch(${JSON.stringify(url)}, { mode: 'no-cors' }).catch(() => 0)`;
  if (kind === 'way') serveWay(Number(rest), response, isWholeTable);
  else if (kind === 'to') {
    const [, status = '', to = ''] = /^(\d+)\/(.*)$/.exec(rest) ?? [];
    response.writeHead(Number(status), { location: headerText(decodeURIComponent(to)) }).end();
  } else if (kind === 'refresh') response.writeHead(200, { ...page, refresh: `0;url=${headerText(url)}` }).end('x');
  else if (kind === 'shared-worker') response.writeHead(200, script).end(fetching);
  else if (kind === 'service-worker')
    response.writeHead(200, script).end(`oninstall = (e) => e.waitUntil(${fetching})`);
  else if (kind === 'transformed') {
    const style = `<?xml-stylesheet type="text/xsl" href="${url.replaceAll('&', '&amp;')}"?>`;
    response.writeHead(200, { 'content-type': 'text/xml' }).end(`<?xml version="1.0"?>${style}<a/>`);
  } else response.writeHead(kind === 'missing' ? 404 : 200, page).end('<body>site</body>');
}

function serveWay(index: number, response: ServerResponse, isWholeTable: boolean): void {
  const way = WAYS_OUT[index];
  if (way === undefined) throw new RangeError(`there is no way ${index}`);
  const urls = targetsOf(way.name, isWholeTable).map((target) => urlFor(way.name, target));
  const pages = urls.map((url) => way.page(url));
  const isMarkup = pages[0]?.includes('<body>') === true;
  const scripts = pages.map((code) => `<script>{${code.replaceAll('</', '<\\/')}}</script>`);
  const body = isMarkup ? pages.join('').replaceAll(/<\/?body>/g, '') : scripts.join('');
  for (const [name, value] of urls.flatMap((url) => Object.entries(way.headers?.(url) ?? {}))) {
    response.appendHeader(name, headerText(value));
  }
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html><body>${body}</body>`);
}

/** UTF-8 in a header, the way browsers read it. */
function headerText(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Pages at work side by side. */
const AT_ONCE = 6;

/** Beyond this, a page waits for an answer that does not end, such as that of an EventSource. */
const QUIET_WITHIN_MS = 4000;

/** All ways, by visitors that `enter` lets in. */
async function look(ways: Looking, enter: () => Promise<Visitor>): Promise<Sighting> {
  await using canaries = new Canaries();
  for (const address of [...LOOPBACK, ...PRIVATE, ...nameServers()]) await canaries.watch(address);
  let pages = 0;
  const site = createServer((request, response) => {
    if (request.url?.startsWith('/way/')) pages += 1;
    serveSite(request, response, ways.isWholeTable);
  });
  await once(site.listen(80, SITE), 'listening');
  const left = [...ways.indexes];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let index = left.shift(); index !== undefined; index = left.shift()) {
        await using visitor = await enter();
        await tryWay(visitor, index);
      }
    }),
  );
  site.closeAllConnections();
  site.close();
  const sorted = (set: ReadonlySet<string>) => [...set].sort();
  return { seen: sorted(canaries.seen), ways: sorted(canaries.ways), targets: sorted(canaries.targets), pages };
}

interface Looking {
  readonly indexes: readonly number[];
  /** All ways to all targets, or to a few. */
  readonly isWholeTable: boolean;
}

interface Visitor extends AsyncDisposable {
  readonly context: BrowserContext;
  newPage(): Promise<Page>;
}

async function lookThroughEgress(allowed: string, ways: Looking): Promise<Sighting> {
  const lookup = async (name: string) => (NAMES[name] ?? []).map((address) => ({ address }));
  await using open = await openBrowser(allowed, { lookup });
  // Awaited here: the way out closes when this returns.
  return await look(ways, () => open.openContext());
}

/** A busy page may leave before a way was taken, so ways that led nowhere are tried again. */
async function lookUntilProven(allowed: string): Promise<Sighting> {
  let proven = await lookThroughEgress(allowed, { indexes: PROVEN, isWholeTable: false });
  for (let round = 0; round < 2; round += 1) {
    const indexes = PROVEN.filter((index) => isWorking(index) && !proven.ways.includes(nameOf(index)));
    if (indexes.length === 0) return proven;
    const again = await lookThroughEgress(allowed, { indexes, isWholeTable: false });
    proven = { ...proven, ways: [...proven.ways, ...again.ways], targets: [...proven.targets, ...again.targets] };
  }
  return proven;
}

function nameOf(index: number): string {
  return WAYS_OUT[index]?.name ?? '';
}

function isWorking(index: number): boolean {
  return WAYS_OUT[index]?.isIdle !== true;
}

async function lookFreely(): Promise<Sighting> {
  const browser = await launchChromium([`--host-resolver-rules=MAP site.test ${SITE}`]);
  const indexes = [...WAYS_OUT.keys()].filter((index) => /rtc|dns|preconnect/.test(nameOf(index)));
  const sighting = await look({ indexes, isWholeTable: false }, async () => {
    const context = await browser.newContext();
    return { context, newPage: () => context.newPage(), [Symbol.asyncDispose]: () => context.close() };
  });
  await browser.close();
  return sighting;
}

async function tryWay(visitor: Visitor, index: number): Promise<void> {
  const page = await visitor.newPage();
  page.on('dialog', (dialog) => void dialog.dismiss().catch(() => undefined));
  await page.goto(`http://site.test/way/${index}`, { waitUntil: 'commit' });
  const quiet = (each: Page) =>
    each.waitForLoadState('networkidle', { timeout: QUIET_WITHIN_MS }).catch(() => undefined);
  await quiet(page);
  await Promise.all(visitor.context.pages().map(quiet));
}

/** The name servers of this machine: a browser that looks names up itself would ask them. */
function nameServers(): readonly string[] {
  const found = readFileSync('/etc/resolv.conf', 'utf8').matchAll(/^nameserver\s+([\d.]+)\s*$/gm);
  return [...found].map(([, address = '']) => address).filter((address) => !LOOPBACK.includes(address));
}

if (import.meta.main) {
  haveAddresses([SITE, ...PRIVATE, ...nameServers()]);
  const isWholeTable = sized({ quick: false, slow: true });
  const attempts = TRIED.reduce((sum, index) => sum + targetsOf(nameOf(index), isWholeTable).length, 0);
  const everything = ['0.0.0.0/0', '::/0', '169.254.169.254', '100.100.100.200'].join(',');
  const guarded = await lookThroughEgress('', { indexes: TRIED, isWholeTable });
  const allowed = await lookUntilProven(everything);
  const findings: Findings = { attempts, guarded, allowed, bare: await lookFreely() };
  await closeBrowsers();
  process.stdout.write(JSON.stringify(findings));
}
