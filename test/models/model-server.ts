import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What a model site was asked, and what it answers. */
export interface ModelRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface ModelReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ModelServer {
  readonly origin: string;
  /** Requests, those that were refused included. */
  requests(): number;
  /** Requests that were answered with a 503 by chance. */
  refused(): number;
  close(): Promise<void>;
}

/**
 * A site on this machine. One address in a hundred, chosen by `seed`, answers its first visit with a 503, every second of
 * them with a Retry-After. The order of requests does not matter, so that a run can be repeated.
 */
export async function startModel(seed: string, answer: (request: ModelRequest) => ModelReply): Promise<ModelServer> {
  const visited = new Set<string>();
  let requests = 0;
  let refused = 0;
  const server = createServer(async (request, response) => {
    const { method = 'GET', headers } = request;
    const url = new URL(request.url ?? '/', 'http://model');
    const body = (await buffer(request)).toString();
    const dice = Number.parseInt(hash('sha256', `${seed} ${method} ${url.href}`).slice(0, 8), 16);
    const isFirst = !visited.has(`${method} ${url.href}`);
    visited.add(`${method} ${url.href}`);
    requests += 1;
    if (isFirst && dice % 100 === 0) {
      refused += 1;
      const isPolite = dice % 200 === 0;
      response.writeHead(503, { 'content-type': 'text/plain', ...(isPolite ? { 'retry-after': '1' } : {}) });
      response.end('Busy');
      return;
    }
    const reply = answer({ method, url, headers, body });
    response.writeHead(reply.status ?? 200, { 'content-type': 'text/html; charset=utf-8', ...reply.headers });
    response.end(reply.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    refused: () => refused,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
