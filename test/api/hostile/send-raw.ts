import { connect } from 'node:net';
import type { HostileRequest } from './hostile-request.ts';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** How long an answer may take before the test calls it lost. */
const PATIENCE_MS = 30_000;
/** For operations that visit a site before they answer: the server itself waits for up to two minutes. */
const VISIT_PATIENCE_MS = 150_000;
const VISITS = new Set(['getSiteContent', 'getSiteLinks', 'discoverSite']);
const WATCHES = new Set(['watchJob', 'watchScrapeRun']);

/** Whether the answer depends on a site and on workers, which may fail: then a 503 or 504 is as good as any other. */
export function isVisit({ operation }: Pick<HostileRequest, 'operation'>): boolean {
  return VISITS.has(operation);
}

/**
 * Sends a request byte for byte, on a connection of its own, and reads what comes back: no client library tidies it up
 * on the way. Returns null where no answer can come because the sender hung up.
 */
export function sendRaw(origin: URL, request: HostileRequest): Promise<RawAnswer | null> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer | null>();
  const socket = connect(Number(origin.port), origin.hostname);
  const pieces: Buffer[] = [];
  socket.setTimeout(isVisit(request) ? VISIT_PATIENCE_MS : PATIENCE_MS, () => {
    reject(new Error(`no answer to ${request.method} ${request.path}`));
    socket.destroy();
  });
  socket.on('connect', () => {
    const { head, body } = bytesOf(origin, request);
    socket.write(head);
    if (request.sent === 'cut') {
      socket.write(body.subarray(0, Math.floor(body.length / 2)), () => {
        socket.destroy();
        resolve(null);
      });
    } else socket.write(body);
  });
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece);
    // Events go on for as long as what is watched does.
    if (WATCHES.has(request.operation) && piece.includes('retry:')) socket.end();
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // The server may hang up on a body that it does not want; what it said before counts.
    if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error);
  });
  socket.on('close', () => {
    if (request.sent === 'cut') resolve(null);
    else {
      try {
        resolve(answerOf(Buffer.concat(pieces)));
      } catch (error) {
        reject(new Error(`${request.method} ${request.path}: ${String(error)}`));
      }
    }
  });
  return promise;
}

function bytesOf(origin: URL, { method, path, headers, body }: HostileRequest): { head: Buffer; body: Buffer } {
  const given = new Set(headers.map(([name]) => name));
  const content = body ?? Buffer.alloc(0);
  const isChunked = given.has('transfer-encoding');
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: ${origin.host}`,
    'connection: close',
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(isChunked || (body === null && method === 'GET') ? [] : [`content-length: ${content.length}`]),
  ];
  const chunked = Buffer.concat([
    Buffer.from(`${content.length.toString(16)}\r\n`),
    content,
    Buffer.from('\r\n0\r\n\r\n'),
  ]);
  const framed = content.length === 0 ? Buffer.from('0\r\n\r\n') : chunked;
  return { head: Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body: isChunked ? framed : Buffer.from(content) };
}

function answerOf(bytes: Buffer): RawAnswer {
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) throw new Error(`no HTTP answer: ${bytes.subarray(0, 200).toString('latin1')}`);
    const [first = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
    rest = rest.subarray(end + 4);
    // `100 Continue` is not an answer yet.
    if (status === 100) continue;
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const at = line.indexOf(':');
        return [line.slice(0, at), line.slice(at + 1).trim()];
      }),
    );
    const body = headers.get('transfer-encoding') === 'chunked' ? unchunked(rest) : rest;
    return { status, headers, text: body.toString() };
  }
}

function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.subarray(at, end).toString('latin1'), 16);
    if (end < 0 || !(size > 0)) return Buffer.concat(parts);
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
