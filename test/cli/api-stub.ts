import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { ApiClient } from '../../src/contract/client/api-client.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** A server that speaks as much of the API as a test needs; closed when the test file is done. */
export async function startApi(handle: RequestListener, port = 0) {
  const server = createServer(handle).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  after(close);
  const { port: chosen } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${chosen}`, port: chosen, close };
}

/** Waits of a retry are over at once, and remembered; deadlines do not move until the test lets time pass. */
export class HastyClock extends FakeClock {
  readonly naps: number[] = [];
  onNap: (ms: number) => void | Promise<void> = () => {};

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms >= 60_000) return await super.sleep(ms, signal);
    this.naps.push(ms);
    await this.onNap(ms);
    await this.turn();
  }
}

export function clientOf(url: string, more: { apiKey?: string; signal?: AbortSignal; clock?: FakeClock } = {}) {
  const notes: string[] = [];
  const clock = more.clock ?? new HastyClock();
  const api = new ApiClient({
    url,
    apiKey: more.apiKey ?? null,
    clock,
    signal: more.signal ?? new AbortController().signal,
    onRetry: (error) => notes.push(error.message),
  });
  return { api, clock, notes };
}

export function answerJson(response: ServerResponse, value: unknown, status = 200): void {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'content-type': type }).end(JSON.stringify(value));
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await Array.fromAsync(request)).toString();
}
