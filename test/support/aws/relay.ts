import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';

/** A request as it came, or as it is to be sent on. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** Keyed by lower-case name. */
export type Headers = Readonly<Record<string, string | readonly string[]>>;

/** Answers, or breaks the connection off. What it throws breaks the connection off too. */
export type Relaying = (asked: Asked, forward: (asked: Asked) => Promise<Answer>) => Promise<Answer | 'hang up'>;

export interface Relay {
  readonly url: string;
  stop(): Promise<void>;
}

const MAX_REQUEST_BYTES = 16 * 1024 * 1024;
/** Belong to one connection, and the sender of the next hop sets them again: the body is whole, its length known. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'expect', 'date']);

/**
 * An HTTP server in front of another one that hands every request, whole, to `relaying`. `Host` is passed on as it
 * came: an emulator that makes addresses of it names this server, so that its clients come back here.
 */
export async function startRelay(target: string, relaying: Relaying): Promise<Relay> {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true });

  async function forward(asked: Asked, signal: AbortSignal): Promise<Answer> {
    const headers = { ...asked.headers, 'content-length': String(asked.body.length) };
    const sent = request({ agent, hostname, port, method: asked.method, path: asked.path, headers, signal });
    // An error may come even after the answer has begun, when the promise is no longer awaited.
    sent.on('error', () => {});
    sent.end(asked.body);
    const [received] = (await once(sent, 'response')) as [IncomingMessage];
    const body = await readAll(received);
    return { status: received.statusCode ?? 500, headers: endToEnd(received), body };
  }

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    // A client that gives up a long poll must not leave one running that takes messages for no receiver.
    const gone = new AbortController();
    outgoing.on('close', () => outgoing.writableFinished || gone.abort());
    const body = await readAll(incoming);
    if (body.length > MAX_REQUEST_BYTES) {
      outgoing.writeHead(413, { 'content-type': 'application/xml' });
      outgoing.end('<Error><Code>EntityTooLarge</Code><Message>the relay takes up to 16 MiB</Message></Error>');
      return;
    }
    const asked = { method: incoming.method ?? '', path: incoming.url ?? '', headers: endToEnd(incoming), body };
    const answer = await relaying(asked, (changed) => forward(changed, gone.signal));
    if (answer === 'hang up') {
      outgoing.destroy();
      return;
    }
    // The answer to HEAD tells the length of a body that is not there.
    const length = asked.method === 'HEAD' ? {} : { 'content-length': String(answer.body.length) };
    outgoing.writeHead(answer.status, { ...answer.headers, ...length } as Record<string, string | string[]>);
    outgoing.end(answer.body);
  }

  // A client keeps its idle connections for longer than the five seconds after which a server drops them by default.
  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}

function endToEnd({ headers, method }: IncomingMessage): Headers {
  const kept: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !HOP_BY_HOP.has(name)) kept[name] = value;
  }
  // `method` is there in requests only.
  if (method === null && headers['content-length'] !== undefined) kept['content-length'] = headers['content-length'];
  return kept;
}

async function readAll(stream: Readable): Promise<Buffer> {
  return Buffer.concat(await stream.toArray());
}

/** JSON, with the checksum that DynamoDB sends along made to fit. */
export function jsonAnswer(status: number, value: unknown, headers: Headers = {}): Answer {
  const body = Buffer.from(JSON.stringify(value));
  const fitting = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-crc32': String(crc32(body)) };
  return { status, headers: { ...headers, ...fitting }, body };
}
