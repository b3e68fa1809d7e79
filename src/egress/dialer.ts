import type { Socket } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { Failure } from '../domain/failure.ts';
import type { GeoTarget } from '../domain/proxy-policy.ts';
import type { Counting } from '../domain/usage.ts';
import type { ResolvedAddress } from './resolver.ts';
import type { Exit } from './web.ts';

/**
 * Makes connections: straight to the target, or through a proxy. A visit names its dialer and its session (`Visit.exit`),
 * and both are part of the pool's key, so that a connection made one way is never used by a visit that asked for another.
 */
export interface Dialer {
  /**
   * Which idle connections a session may use: those made with the same key. It differs for two sessions that the target
   * must not recognise as one visitor; it is constant if the target sees the same address for all of them.
   */
  connectionKey(exit: Exit): string;
  /** The other end looks up names itself: a name unknown here may still be dialled, if it looks public. */
  readonly resolvesNames?: true;
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
  /**
   * The addresses that the name resolves to, all of them allowed. At least one, except for a dialer that
   * `resolvesNames`.
   */
  readonly addresses: readonly ResolvedAddress[];
  /** Null for plain HTTP, and for a tunnel. */
  readonly tls: TlsTarget | null;
  /** The connection must carry bytes unchanged in both directions: a proxy may not read them as requests. */
  readonly isTunnel: boolean;
  readonly session: string;
  /** Where the exit should be; null for anywhere. */
  readonly geo: GeoTarget | null;
  readonly deadline: DialDeadline;
  /** Where a dialer counts its traffic for a connection that failed. */
  readonly usage: Counting | null;
}

export interface TlsTarget {
  /** The host of the URL, a name or an address: what the certificate must be for, wherever the connection goes. */
  readonly hostname: string;
  /** Authorities to trust instead of the default ones, in PEM. */
  readonly ca?: string;
  /** Instead of `ca`: authorities that were already read. */
  readonly context?: SecureContext;
}

interface DialDeadline {
  /** By the clock's `elapsed()`. */
  readonly at: number;
  /** The whole time allowed for a connection, including the lookup of the name: for messages. */
  readonly ms: number;
}

export type Dialled =
  | { readonly kind: 'connected'; readonly socket: Socket | TLSSocket; readonly via?: ViaProxy }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** A connection on which a proxy may answer. */
export interface ViaProxy {
  /**
   * Not a tunnel: the proxy reads each request, which must name the whole URL and needs these headers (name, value,
   * name, value …). Null for a tunnel.
   */
  readonly forwardHeaders: readonly string[] | null;
  /** Null if an answer on this connection is the target's; otherwise what the proxy itself says. */
  judge(status: number, headers: Readonly<Record<string, string>>): Failure | null;
}
