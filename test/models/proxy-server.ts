import { createServer as createHttpServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** A request as the proxy sees it. */
export interface ProxyAsk {
  /** `host:port` */
  readonly target: string;
  readonly isConnect: boolean;
  /** User name from Proxy-Authorization; null if there is none. */
  readonly user: string | null;
  readonly password: string | null;
  /** `METHOD path` of a request that is passed on, as it came; empty for CONNECT. */
  readonly line: string;
  readonly headers: IncomingMessage['headers'];
}

export interface ProxyReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ModelProxy {
  readonly port: number;
  readonly asked: readonly ProxyAsk[];
  /** What has passed between its clients and itself, on the wire. */
  bytes(): { readonly up: number; readonly down: number };
  /** What it answers itself, from now on; null passes requests on. */
  answer: ((ask: ProxyAsk) => ProxyReply | null) | null;
  close(): Promise<void>;
}

/** The code as Bright Data sends it. */
export function refusal(status: number, code: string): ProxyReply {
  return { status, headers: { 'x-brd-err-code': code, 'x-brd-err-msg': 'see the code' }, body: 'refused by the proxy' };
}

/**
 * A proxy that speaks as Bright Data's does: it takes CONNECT and whole URLs, asks for a password with 407 and
 * client_10020, and passes everything on to loopback, whatever the host is called. `tls` makes it an HTTPS proxy.
 */
export async function startProxy(
  password: string | null,
  tls: { readonly key: string; readonly cert: string } | null = null,
): Promise<ModelProxy> {
  const asked: ProxyAsk[] = [];
  const sockets = new Set<Duplex>();
  const clients: Socket[] = [];
  const keep = (socket: Duplex) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  };
  const judge = (request: IncomingMessage): { ask: ProxyAsk; reply: ProxyReply | null } => {
    const ask = readAsk(request);
    asked.push(ask);
    if (password !== null && ask.password !== password) return { ask, reply: refusal(407, 'client_10020') };
    return { ask, reply: proxy.answer?.(ask) ?? null };
  };
  const server = tls === null ? createHttpServer() : createHttpsServer({ ...tls });
  server.on('connection', (socket: Socket) => {
    keep(socket);
    clients.push(socket);
  });
  server.on('request', (request, response) => {
    const { reply } = judge(request);
    if (reply !== null) {
      response.writeHead(reply.status, reply.headers).end(reply.body);
      return;
    }
    const { 'proxy-authorization': _, ...others } = request.headers;
    const headers = { ...others, via: '1.1 model' };
    const url = new URL(request.url ?? '');
    const onward = httpRequest({
      ...{ host: '127.0.0.1', port: url.port || 80, path: url.pathname + url.search, method: request.method ?? 'GET' },
      headers,
    });
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.writeHead(502, { 'x-brd-err-code': 'target_40001' }).end());
    request.pipe(onward);
  });
  server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    keep(socket);
    const { ask, reply } = judge(request);
    if (reply !== null) {
      socket.end(rawAnswer(reply));
      return;
    }
    const onward: Socket = connect({ host: '127.0.0.1', port: Number(ask.target.split(':').at(-1)) }, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    keep(onward);
    onward.on('error', () => socket.end(rawAnswer(refusal(502, 'target_40001'))));
    socket.once('close', () => onward.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: ModelProxy = {
    port: (server.address() as AddressInfo).port,
    asked,
    bytes: () => ({
      up: clients.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
      down: clients.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
    }),
    answer: null,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

function readAsk({ method = '', url = '', headers }: IncomingMessage): ProxyAsk {
  const basic = /^Basic (.*)$/.exec(headers['proxy-authorization'] ?? '')?.[1];
  const [, user, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(basic ?? '', 'base64').toString()) ?? [];
  const isConnect = method === 'CONNECT';
  const target = isConnect ? url : (URL.parse(url)?.host ?? '');
  const line = isConnect ? '' : `${method} ${url}`;
  return { target, isConnect, user: user ?? null, password: password ?? null, line, headers };
}

function rawAnswer({ status, headers = {}, body = '' }: ProxyReply): string {
  const lines = Object.entries({ ...headers, 'content-length': body.length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `HTTP/1.1 ${status} Answer\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}
