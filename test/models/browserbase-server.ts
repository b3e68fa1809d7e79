import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type RemoteChromium, startRemoteChromium } from './remote-chromium.ts';

/**
 * Speaks the REST API of Browserbase and its WebSocket, with a real Chromium behind each session. What it should do wrong is
 * said in advance, create by create.
 */
export type CreateFault = 'lose-answer' | 'fail-after' | 'garbage' | 'refuse-connection' | 'hang-connection';

type Status = 'PENDING' | 'RUNNING' | 'ERROR' | 'TIMED_OUT' | 'COMPLETED';

interface ModelSession {
  readonly id: string;
  readonly userMetadata: Record<string, unknown>;
  /** Null for a session that no user will reach. */
  readonly chromium: RemoteChromium | null;
  readonly connections: Set<Duplex>;
  readonly fault: CreateFault | null;
  status: Status;
  /** How often it was asked to be released. */
  releases: number;
}

export const API_KEY = 'bb_live_model_key';
const PROJECT = 'project-of-the-key';

export class BrowserbaseServer {
  readonly sessions = new Map<string, ModelSession>();
  /** For the next creates, in their order. */
  readonly faults: (CreateFault | null)[] = [];
  /** Requests for a release that are answered with 500, from now on. */
  failingReleases = 0;
  maxConcurrent = 3;
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #count = 0;

  async start(): Promise<string> {
    this.#server.on('upgrade', (request, socket) => this.#connect(request, socket));
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://${this.#host}`;
  }

  get #host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sessions that are being paid for. */
  running(): readonly ModelSession[] {
    return [...this.sessions.values()].filter(({ status }) => status === 'RUNNING');
  }

  /** The network between us and the browser. */
  cut(id: string): void {
    for (const socket of this.sessions.get(id)?.connections ?? []) socket.destroy();
  }

  /** Its time is over. The connection stays open, as after a network that swallows everything. */
  expire(id: string): void {
    const session = this.sessions.get(id);
    if (session !== undefined) session.status = 'TIMED_OUT';
  }

  async stop(): Promise<void> {
    for (const { id } of this.sessions.values()) this.cut(id);
    await Promise.all([...this.sessions.values()].map(({ chromium }) => chromium?.stop()));
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const url = new URL(request.url ?? '', 'http://model');
    const send = (status: number, value: unknown, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    if (request.headers['x-bb-api-key'] !== API_KEY) return void send(401, { message: 'Unauthorized' });
    const id = /^\/v1\/sessions\/([^/]+)$/.exec(url.pathname)?.[1];
    if (id !== undefined) return this.#answerOne(id, request.method === 'POST' ? body : null, send);
    if (request.method === 'GET') {
      const status = url.searchParams.get('status');
      return void send(
        200,
        [...this.sessions.values()].filter((each) => status === null || each.status === status).map(shown),
      );
    }
    await this.#create(JSON.parse(body), request, send);
  }

  async #create(
    wanted: { timeout?: number; userMetadata?: Record<string, unknown> },
    request: IncomingMessage,
    send: (status: number, value: unknown, headers?: Record<string, string>) => void,
  ): Promise<void> {
    if (!(Number(wanted.timeout) >= 60 && Number(wanted.timeout) <= 21_600)) return send(400, { message: 'timeout' });
    if (this.running().length >= this.maxConcurrent) {
      return send(429, { message: 'max concurrent sessions' }, { 'retry-after': '0.1' });
    }
    const fault = this.faults.shift() ?? null;
    this.#count += 1;
    const session: ModelSession = {
      ...{ id: `session-${this.#count}`, userMetadata: wanted.userMetadata ?? {}, fault, releases: 0 },
      ...{ status: 'RUNNING', connections: new Set(), chromium: fault === null ? await startRemoteChromium() : null },
    };
    this.sessions.set(session.id, session);
    if (fault === 'lose-answer') request.socket.destroy();
    else if (fault === 'fail-after') send(500, { message: 'internal' });
    else if (fault === 'garbage') send(201, { ok: true });
    else send(201, { ...shown(session), connectUrl: `ws://${this.#host}/${session.id}?signingKey=secret-of-session` });
  }

  async #answerOne(id: string, body: string | null, send: (status: number, value: unknown) => void): Promise<void> {
    const session = this.sessions.get(id);
    if (session === undefined) return send(404, { message: 'no such session' });
    if (body === null) return send(200, shown(session));
    if (this.failingReleases > 0) {
      this.failingReleases -= 1;
      return send(500, { message: 'internal' });
    }
    if (JSON.parse(body).status !== 'REQUEST_RELEASE') return send(400, { message: 'status' });
    session.releases += 1;
    if (session.status === 'RUNNING') session.status = 'COMPLETED';
    this.cut(id);
    await session.chromium?.stop();
    send(200, shown(session));
  }

  /** Passes everything on to the Chromium of the session. */
  #connect(request: IncomingMessage, socket: Duplex): void {
    const url = new URL(request.url ?? '', 'http://model');
    const session = this.sessions.get(url.pathname.slice(1));
    const isKnown = session?.status === 'RUNNING' && url.searchParams.get('signingKey') === 'secret-of-session';
    if (session === undefined || !isKnown || session.fault === 'refuse-connection') {
      socket.end('HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    session.connections.add(socket);
    socket.on('error', () => {});
    // One whose connection hangs.
    if (session.chromium === null) return;
    passOn(request, socket, session.chromium);
  }
}

/** A WebSocket to a Chromium by way of this process. */
export function passOn(request: IncomingMessage, socket: Duplex, { port, path }: RemoteChromium): Socket {
  const { host: _, origin: __, ...headers } = request.headers;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const behind = connect(port, '127.0.0.1', () => {
    behind.write([`GET ${path} HTTP/1.1`, `host: 127.0.0.1:${port}`, ...lines, '', ''].join('\r\n'));
    socket.pipe(behind).pipe(socket);
  });
  behind.on('error', () => socket.destroy());
  behind.on('close', () => socket.destroy());
  socket.on('close', () => behind.destroy());
  return behind;
}

/** The list has no connectUrl. */
function shown({ id, status, userMetadata }: ModelSession) {
  return { id, status, projectId: PROJECT, userMetadata };
}
