import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../ports/clock.ts';

/** What a proxy answered to CONNECT. With a 2xx, the socket leads to the target. */
interface TunnelAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

export interface TunnelTime {
  readonly ms: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** As generous as Node. A server that sends more is not a proxy. */
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Asks the HTTP proxy at the other end of this socket for a tunnel to `to` (`host:port`), with Node's own client, which
 * limits and parses the answer. Rejects with the error of the socket or of the parser, with the signal's reason, or
 * with `ETIMEDOUT`; the socket is then destroyed.
 */
export async function openTunnel(
  socket: Socket,
  to: string,
  authorization: string | null,
  { ms, clock, signal }: TunnelTime,
): Promise<TunnelAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<TunnelAnswer>();
  const asked = httpRequest({
    createConnection: () => socket,
    method: 'CONNECT',
    path: to,
    headers: { host: to, ...(authorization === null ? {} : { 'proxy-authorization': authorization }) },
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const settled = new AbortController();
  clock.sleep(ms, settled.signal).then(() => {
    reject(Object.assign(new Error('the proxy did not answer in time'), { code: 'ETIMEDOUT' }));
  });
  asked.on('error', reject);
  asked.once('close', () => reject(new Error('the proxy closed the connection')));
  asked.once('connect', (answer, _socket, head) => {
    // The target must not speak first; with a refusal these bytes are the body, which is not read.
    if (head.length > 0 && isOpen(answer)) reject(new Error('the proxy sent unexpected data'));
    else resolve({ status: answer.statusCode ?? 0, headers: plainHeaders(answer) });
  });
  asked.end();
  try {
    return await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    settled.abort();
    signal.removeEventListener('abort', onAbort);
  }
}

function isOpen({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

function plainHeaders({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]));
}
