import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Failure } from '../domain/failure.ts';
import type { ResolvedAddress } from './resolver.ts';

/**
 * Makes connections: straight to the target, or through a proxy. A visit names its dialer and its session (`Visit.exit`),
 * and both are part of the pool's key, so that a connection made one way is never used by a visit that asked for another.
 */
export interface Dialer {
  /**
   * Which idle connections a session may use: those that were made for the same answer. It differs for two sessions that
   * the target must not recognise as one visitor; it is constant if the target sees the same address for all of them.
   */
  connectionKey(session: string): string;
  /**
   * Connects to the target and to nothing beyond it: redirects, requests and answers are up to the caller. The address
   * rules have approved the target's addresses; a dialer never resolves the target's name itself. Rejects only when
   * `signal` aborts, with its reason, and then leaves no socket open.
   */
  dial(target: DialTarget, signal: AbortSignal): Promise<Dialled>;
}

export interface DialTarget {
  /** A name, or an IP address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** What the name resolves to: at least one address, all of them allowed. */
  readonly addresses: readonly ResolvedAddress[];
  /** Null for plain HTTP. */
  readonly tls: TlsTarget | null;
  readonly session: string;
  readonly deadline: DialDeadline;
}

export interface TlsTarget {
  /** The host of the URL, a name or an address: what the certificate must be for, wherever the connection goes. */
  readonly hostname: string;
  /** Authorities to trust instead of the usual ones, in PEM. */
  readonly ca?: string;
}

interface DialDeadline {
  /** By the clock's `elapsed()`. */
  readonly at: number;
  /** The whole time allowed for a connection, of which looking up the name has used a part: for messages. */
  readonly ms: number;
}

type Dialled =
  | { readonly kind: 'connected'; readonly socket: Socket | TLSSocket }
  | { readonly kind: 'failed'; readonly failure: Failure };
