import type { Clock } from '../ports/clock.ts';
import { connectTo } from './connect-to.ts';
import type { Dialer } from './dialer.ts';
import { translateError } from './translate-error.ts';

/** The name of the direct dialer, which every web has. */
export const DIRECT = 'direct';

/** Connects straight to the target. All sessions use this machine's address, so they share connections. */
export function directDialer(clock: Clock): Dialer {
  return {
    connectionKey: () => '',
    async dial({ addresses, port, tls, deadline }, signal) {
      try {
        const leftMs = deadline.at - clock.elapsed();
        return { kind: 'connected', socket: await connectTo(addresses, port, tls, leftMs, clock, signal) };
      } catch (error) {
        signal.throwIfAborted();
        return { kind: 'failed', failure: translateError(error, deadline.ms) };
      }
    },
  };
}
