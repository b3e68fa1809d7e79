import type { Socket } from 'node:net';
import { SocksClient } from 'socks';
import { type Failure, failure } from '../domain/failure.ts';
import type { ProxyServer } from '../domain/proxy-server.ts';
import type { TunnelTime } from './http-tunnel.ts';

/**
 * Asks the SOCKS5 proxy at the other end of this socket for a connection to the target. Null if it succeeded. The
 * package `socks` is given a connected socket, so that it neither looks up names nor dials, and its errors, which
 * contain the password, do not leave this file. Rejects with the signal's reason; the socket is then destroyed.
 */
export async function openSocksTunnel(
  socket: Socket,
  to: { readonly host: string; readonly port: number },
  { user, password }: Pick<ProxyServer, 'user' | 'password'>,
  { ms, clock, signal }: TunnelTime,
): Promise<Failure | null> {
  let isLate = false;
  const settled = new AbortController();
  // The client notices that its socket is closed, and rejects.
  const onAbort = () => socket.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  clock.sleep(ms, settled.signal).then(() => {
    if (settled.signal.aborted) return;
    isLate = true;
    socket.destroy();
  });
  try {
    signal.throwIfAborted();
    await SocksClient.createConnection({
      command: 'connect',
      existing_socket: socket,
      destination: to,
      // The address is not used: the socket is already connected.
      proxy: { ipaddress: '0.0.0.0', port: 1, type: 5, ...(user === '' ? {} : { userId: user, password }) },
    });
    return null;
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    if (isLate) return failure('timeout', 'the proxy did not answer in time');
    return socksFailure(error instanceof Error ? error.message : '');
  } finally {
    settled.abort();
    signal.removeEventListener('abort', onAbort);
  }
}

const THEN_RESUME = 'then resume the job';

/** Messages of `socks`, which has no codes. The last row matches everything else. */
const SAID: readonly [pattern: RegExp, type: Failure['type'], message: string][] = [
  [
    /Authentication failed|authentication type/,
    'proxy_config',
    `the proxy does not accept our credentials; check user and password, ${THEN_RESUME}`,
  ],
  [/NotAllowed/, 'proxy_config', `the rules of the proxy forbid this connection; change them, ${THEN_RESUME}`],
  [/NotSupported/, 'proxy_config', 'the proxy cannot make such a connection'],
  [/invalid socks version/, 'proxy_config', `the server is not a SOCKS5 proxy; check its address, ${THEN_RESUME}`],
  [/ConnectionRefused/, 'network_error', 'the proxy says that the target refuses connections'],
  [/Unreachable|TTLExpired/, 'network_error', 'the proxy says that the target is unreachable'],
  [/rejected connection/, 'proxy_error', 'the proxy could not make the connection'],
  [/(?:)/, 'proxy_error', 'the proxy closed the connection'],
];

function socksFailure(said: string): Failure {
  const [, type, message] = SAID.find(([pattern]) => pattern.test(said)) ?? [null, 'proxy_error' as const, said];
  return failure(type, message);
}
