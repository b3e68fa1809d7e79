import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { DeadlineWatch } from '../../ports/deadline-watch.ts';
import { parseTarget, type Target } from '../target.ts';
import { WireCount } from '../wire.ts';
import type { BrowserVisit } from './browser-visit.ts';
import { forward } from './forward.ts';
import { hostOf, type LineDeps, VisitLine } from './visit-line.ts';

/** What a client of the proxy must know. */
export interface ProxyCredentials {
  readonly username: string;
  readonly password: string;
}

export interface ProxyDeps extends LineDeps {
  readonly watch: DeadlineWatch;
  readonly credentials: ProxyCredentials;
}

const CHALLENGE = 'Basic realm="trawl"';

/** Limit for the headers of a browser's request. */
const MAX_HEADER_BYTES = 256 * 1024;

/**
 * The only way out for the pages of one browser context: a proxy on its own port. It looks up names, checks the
 * addresses and dials them, or continues through the visit's proxy. It serves only clients that know the password of
 * its context, which no page and no other process does (decision 29).
 */
export class PinningProxy {
  readonly #deps: ProxyDeps;
  readonly #server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0, keepAliveTimeout: 0 });
  readonly #sockets = new Set<Duplex>();
  readonly #expected: string;
  #line: VisitLine;

  private constructor(visit: BrowserVisit, deps: ProxyDeps) {
    this.#deps = deps;
    this.#line = new VisitLine(visit, deps);
    const { username, password } = deps.credentials;
    this.#expected = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    this.#server.on('connection', (socket) => this.#keep(socket));
    this.#server.on('request', (request, response) => {
      if (!this.#isKnown(request)) {
        response.writeHead(407, { 'proxy-authenticate': CHALLENGE, 'content-length': 0 }).end();
        return;
      }
      const target = parseTarget(request.url ?? '');
      // Only proxies receive whole URLs; a client that asks for a path takes this for a site.
      if (target.kind === 'failed' || target.protocol !== 'http:') response.destroy();
      else {
        const { clock, watch } = this.#deps;
        void forward({ request, response, target, line: this.#line, clock, watch });
      }
    });
    this.#server.on('connect', (request, socket, head) => void this.#tunnel(request, socket, head));
    this.#server.on('upgrade', (_request, socket: Duplex) => socket.destroy());
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  static async open(visit: BrowserVisit, deps: ProxyDeps): Promise<PinningProxy> {
    const proxy = new PinningProxy(visit, deps);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    proxy.#server.once('error', reject).listen(0, '127.0.0.1', resolve);
    await promise;
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The current way out. */
  get line(): VisitLine {
    return this.#line;
  }

  /** From now on, everything is done for another visit. The connections of the previous one are closed. */
  async next(visit: BrowserVisit): Promise<void> {
    const last = this.#line;
    this.#line = new VisitLine(visit, this.#deps);
    await Promise.all([this.#destroyAll(), last.end()]);
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await Promise.all([this.#destroyAll(), this.#line.end()]);
    await promise;
  }

  /** Resolves when they are gone: only then is everything counted. */
  async #destroyAll(): Promise<void> {
    await Promise.all(
      [...this.#sockets].map((socket) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        socket.once('close', () => resolve());
        socket.destroy();
        return promise;
      }),
    );
  }

  #isKnown({ headers }: IncomingMessage): boolean {
    return headers['proxy-authorization'] === this.#expected;
  }

  #keep(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  async #tunnel(request: IncomingMessage, browser: Duplex, head: Buffer): Promise<void> {
    if (!this.#isKnown(request)) {
      browser.end(`HTTP/1.1 407 Unknown\r\nproxy-authenticate: ${CHALLENGE}\r\nconnection: close\r\n\r\n`);
      return;
    }
    const line = this.#line;
    const target = tunnelTarget(request.url ?? '');
    const dialled = target === null ? null : await line.connect(target, true);
    if (target === null || dialled === null || dialled.kind === 'failed') {
      browser.end('HTTP/1.1 502 Unreachable\r\nconnection: close\r\n\r\n');
      return;
    }
    const site = dialled.socket;
    if (browser.destroyed) {
      site.destroy();
      return;
    }
    this.#keep(site);
    const host = hostOf(target);
    const usage = line.usageOf(host);
    const bytes = new WireCount(site);
    const count = () => usage !== null && bytes.addTo(usage);
    const stop = () => {
      browser.destroy();
      site.destroy();
    };
    site.on('data', (chunk: Buffer) => {
      count();
      line.receive(chunk.length, host);
    });
    site.once('close', (hadError) => {
      count();
      line.signal.removeEventListener('abort', stop);
      // Received bytes are still on their way to the browser.
      if (hadError) browser.destroy();
      else browser.end();
    });
    browser.once('close', () => site.destroy());
    line.signal.addEventListener('abort', stop, { once: true });
    if (line.signal.aborted) stop();
    browser.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) site.write(head);
    browser.pipe(site);
    site.pipe(browser);
  }
}

/**
 * The target of a tunnel: `host:port`. Port 80 is a WebSocket without TLS; all others count as https, which matters
 * only for the routes and for the name under which traffic is counted.
 */
function tunnelTarget(authority: string): Target | null {
  const scheme = authority.endsWith(':80') ? 'http' : 'https';
  const target = parseTarget(`${scheme}://${authority}/`);
  return target.kind === 'failed' || target.url !== `${target.origin}/` ? null : target;
}
