import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { parseProxyServer } from '../../src/domain/proxy-server.ts';
import type { ProxyWay } from '../../src/domain/proxy-way.ts';
import type { WebDeps } from '../../src/egress/open-web.ts';
import type { Exit } from '../../src/egress/web.ts';
import { type ModelProxy, startProxy } from '../models/proxy-server.ts';
import { selfSigned } from '../support/self-signed.ts';
import { aRequest, aVisit, loopbackWeb, textOf } from './visits.ts';

export const HOST = 'county.test';
export const PASSWORD = 'open sesame!';
/** Shared by the target and the proxy: two self-signed certificates of one name are mistaken for each other. */
export const CERTIFICATE = selfSigned([HOST, '127.0.0.1']);

export interface ModelTarget {
  readonly http: string;
  readonly https: string;
  readonly asked: readonly IncomingMessage[];
  /** What has passed between its clients and itself, on the wire. */
  bytes(): { readonly up: number; readonly down: number };
}

/** A site, plain and with TLS, that says who it is. */
export async function startTarget(t: Pick<TestContext, 'after'>, answer?: RequestListener): Promise<ModelTarget> {
  const asked: IncomingMessage[] = [];
  const listener: RequestListener = (request, response) => {
    asked.push(request);
    if (answer === undefined) response.end('the target');
    else answer(request, response);
  };
  const ports: number[] = [];
  const clients: Socket[] = [];
  for (const server of [createHttpServer(listener), createHttpsServer(CERTIFICATE, listener)]) {
    server.on('connection', (socket: Socket) => clients.push(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    ports.push((server.address() as AddressInfo).port);
  }
  const bytes = () => ({
    up: clients.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    down: clients.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
  });
  return { http: `http://${HOST}:${ports[0]}/`, https: `https://${HOST}:${ports[1]}/`, asked, bytes };
}

/** For proxies that look names up themselves, and do not know ours. */
export function byAddress(url: string): string {
  return url.replace(HOST, '127.0.0.1');
}

export async function openProxy(t: Pick<TestContext, 'after'>, isTls = false): Promise<ModelProxy> {
  const proxy = await startProxy(PASSWORD, isTls ? CERTIFICATE : null);
  t.after(() => proxy.close());
  return proxy;
}

/** Bright Data's residential proxies, at this proxy. */
export function residentialAt({ port }: Pick<ModelProxy, 'port'>, password = PASSWORD): ProxyWay {
  return {
    kind: 'bright-data',
    type: 'residential',
    server: parseProxyServer(`127.0.0.1:${port}`),
    account: { customer: 'hl_1234', zone: 'homes' },
    password,
  };
}

export function listOf(...urls: readonly string[]): ProxyWay {
  return { kind: 'list', servers: urls.map(parseProxyServer) };
}

/** Asks through a proxy that is called `proxied`. Names lead to loopback, except those that the test sets. */
export function askThrough(t: TestContext, way: ProxyWay, parts: Partial<WebDeps> = {}) {
  const web = loopbackWeb({
    lookup: async () => [{ address: '127.0.0.1' }],
    proxies: { ways: { proxied: way }, ca: CERTIFICATE.cert },
    ...parts,
  });
  t.after(() => web.close());
  const ends = (url: string, exit: Partial<Exit> = {}) =>
    web.send(aRequest(url), aVisit({ exit: { dialer: 'proxied', session: 'job/item/0', ...exit } }));
  return { web, ends, ask: async (url: string, exit: Partial<Exit> = {}) => textOf(await ends(url, exit)) };
}
