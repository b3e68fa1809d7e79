import { isIP, connect as netConnect, type Socket } from 'node:net';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import type { Clock } from '../ports/clock.ts';
import type { TlsTarget } from './dialer.ts';
import { formatIp, parseIp, sameIp } from './ip-address.ts';
import type { ResolvedAddress } from './resolver.ts';
import { noteCarrier } from './wire.ts';

/** More attempts would only make each of them shorter. */
const MAX_ATTEMPTS = 6;

/**
 * A connection to one of these addresses, and to nothing else: no name is looked up here. The addresses are tried one after
 * the other, each with an equal share of the remaining time; the first that answers is used, and TLS gets what then remains.
 *
 * Rejects with the error of the last attempt, including its `code`; `ETIMEDOUT` when the time is over.
 */
export async function connectTo(
  addresses: readonly ResolvedAddress[],
  port: number,
  tls: TlsTarget | null,
  connectMs: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Socket | TLSSocket> {
  const deadline = clock.elapsed() + connectMs;
  const tries = alternating(addresses).slice(0, MAX_ATTEMPTS);
  let last: unknown =
    tries.length === 0
      ? new Error('there is no address to connect to')
      : withCode(new Error('no time was left to connect'), 'ETIMEDOUT');
  for (const [at, { address }] of tries.entries()) {
    signal?.throwIfAborted();
    const leftMs = deadline - clock.elapsed();
    if (leftMs <= 0) break;
    let socket: Socket;
    try {
      socket = await within(leftMs / (tries.length - at), clock, signal, `${address} port ${port}`, () =>
        openSocket(address, port),
      );
    } catch (error) {
      last = error;
      continue;
    }
    // After a server has answered, no other address is tried: a bad certificate is bad everywhere.
    return tls === null ? socket : secure(socket, tls, deadline, clock, signal);
  }
  signal?.throwIfAborted();
  throw last;
}

/**
 * The families alternate, each in its own order: if one of them is unreachable, every second attempt uses the other.
 */
function alternating(addresses: readonly ResolvedAddress[]): readonly ResolvedAddress[] {
  const first = addresses.filter(({ family }) => family === addresses[0]?.family);
  const second = addresses.filter(({ family }) => family !== addresses[0]?.family);
  const rounds = Math.max(first.length, second.length);
  return Array.from({ length: rounds }, (_, at) => [first[at], second[at]])
    .flat()
    .filter((address) => address !== undefined);
}

interface Opening<S extends Socket> {
  readonly socket: S;
  readonly event: 'connect' | 'secureConnect';
  readonly check: () => Error | null;
}

function openSocket(address: string, port: number): Opening<Socket> {
  const expected = parseIp(address);
  // Anything but an address would make Node ask DNS, past all rules.
  if (expected === null) throw new Error(`${address} is not an IP address`);
  const socket = netConnect({ host: address, port, autoSelectFamily: false, noDelay: true, lookup: refuseLookup });
  const check = () => {
    const actual = parseIp(socket.remoteAddress ?? '');
    if (actual !== null && sameIp(actual, expected)) return null;
    return new Error(`dialled ${address}, but reached ${actual === null ? 'nothing' : formatIp(actual)}`);
  };
  return { socket, event: 'connect', check };
}

/** TLS over a connected socket, which is destroyed if that fails. */
export async function secure(
  socket: Socket,
  { hostname, ca, context }: TlsTarget,
  deadline: number,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<TLSSocket> {
  try {
    return await within(deadline - clock.elapsed(), clock, signal, `TLS with ${hostname}`, () => {
      const wrapped = tlsConnect({
        socket,
        // What the certificate is compared with when no name is sent: addresses are never sent (RFC 6066).
        host: hostname,
        servername: isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : '',
        ALPNProtocols: ['http/1.1'],
        rejectUnauthorized: true,
        ...(context === undefined ? {} : { secureContext: context }),
        ...(ca === undefined || context !== undefined ? {} : { ca }),
      });
      noteCarrier(wrapped, socket);
      return { socket: wrapped, event: 'secureConnect', check: () => null };
    });
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Waits for the socket to be open. On every other path it is destroyed. */
async function within<S extends Socket>(
  ms: number,
  clock: Clock,
  signal: AbortSignal | undefined,
  what: string,
  open: () => Opening<S>,
): Promise<S> {
  signal?.throwIfAborted();
  const { socket, event, check } = open();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onError = (error: Error) => reject(error);
  const onAbort = () => reject(signal?.reason);
  socket.once(event, resolve).on('error', onError);
  signal?.addEventListener('abort', onAbort, { once: true });
  const settled = new AbortController();
  clock
    .sleep(ms, settled.signal)
    .then(() => reject(withCode(new Error(`${what} did not answer in time`), 'ETIMEDOUT')));
  try {
    await promise;
    const problem = check();
    if (problem !== null) throw problem;
    socket.off('error', onError);
    return socket;
  } catch (error) {
    // The error listener stays: an error of the destroyed socket must not end the process.
    socket.destroy();
    throw error;
  } finally {
    settled.abort();
    socket.off(event, resolve);
    signal?.removeEventListener('abort', onAbort);
  }
}

function withCode(error: Error, code: string): Error {
  return Object.assign(error, { code });
}

function refuseLookup(hostname: string): never {
  throw new Error(`${hostname} would be looked up a second time`);
}
