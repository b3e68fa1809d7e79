import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { selfSigned } from '../support/self-signed.ts';

/** The certificate of every https site here. A browser trusts it if it was started with `trustArgs`. */
export const CERTIFICATE = selfSigned(['site.test', 'www.site.test', 'other.test', 'www.google-analytics.com']);

export interface TestSite {
  /** `http://site.test:1234` or the same with https; any other name leads there, too. */
  readonly origin: string;
  readonly port: number;
  /** `METHOD path`, in order. */
  readonly asked: readonly string[];
  readonly requests: readonly IncomingMessage[];
  /** What has passed between its clients and itself, on the wire. */
  bytes(): { readonly up: number; readonly down: number };
  /** Connections that are open now. */
  open(): number;
}

/** A site on 127.0.0.2, to which all names lead that a test looks up (`toSites`). */
export async function startSite(
  t: Pick<TestContext, 'after'>,
  pages: Readonly<Record<string, RequestListener | string>>,
  isTls = false,
): Promise<TestSite> {
  const requests: IncomingMessage[] = [];
  const clients: Socket[] = [];
  const listener: RequestListener = (request, response) => {
    requests.push(request);
    const page = pages[(request.url ?? '').replace(/\?.*/, '')];
    if (typeof page === 'function') page(request, response);
    else response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' }).end(page ?? 'nothing');
  };
  const server = isTls ? createHttpsServer(CERTIFICATE, listener) : createServer(listener);
  server.on('connection', (socket: Socket) => clients.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `${isTls ? 'https' : 'http'}://site.test:${port}`,
    requests,
    get asked() {
      return requests.map(({ method, url }) => `${method} ${url}`);
    },
    bytes: () => ({
      up: clients.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
      down: clients.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
    }),
    open: () => clients.filter(({ destroyed }) => !destroyed).length,
  };
}

export async function toSites(): Promise<readonly { readonly address: string }[]> {
  return [{ address: '127.0.0.2' }];
}
