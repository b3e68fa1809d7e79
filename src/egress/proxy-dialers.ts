import { hash } from 'node:crypto';
import type { Socket } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { errorCode } from '../domain/error-code.ts';
import { type Failure, failure } from '../domain/failure.ts';
import { judgeProxyAnswer } from '../domain/proxy-answer.ts';
import { type ProxyServer, showProxyServer } from '../domain/proxy-server.ts';
import { chooseProxy, type ProxyWay, type UsableWay } from '../domain/proxy-way.ts';
import type { Clock } from '../ports/clock.ts';
import { parseAddressRanges } from './address-range.ts';
import { AddressRules } from './address-rules.ts';
import { connectTo, secure } from './connect-to.ts';
import type { Dialer, Dialled, DialTarget, ViaProxy } from './dialer.ts';
import { openTunnel } from './http-tunnel.ts';
import { type Lookup, openResolver, type Resolver } from './resolver.ts';
import { openSocksTunnel } from './socks-tunnel.ts';
import { translateError } from './translate-error.ts';
import { WireCount } from './wire.ts';

export interface Proxies {
  /** By the name of the dialer. */
  readonly ways: Readonly<Record<string, ProxyWay>>;
  /** In PEM: authorities of proxies, and of those that decrypt, in addition to the default ones. Null for none. */
  readonly ca: string | null;
}

interface ProxyDeps {
  readonly clock: Clock;
  readonly lookup: Lookup;
  /** Replaces the default authorities. */
  readonly ca: string | undefined;
}

export function proxyDialers({ ways, ca }: Proxies, deps: ProxyDeps): Readonly<Record<string, Dialer>> {
  // The address of a proxy is configuration, and may be a private one.
  const rules = new AddressRules(parseAddressRanges('0.0.0.0/0,::/0'));
  const parts: DialerParts = {
    clock: deps.clock,
    resolver: openResolver({ rules, clock: deps.clock, lookup: deps.lookup }),
    context: ca === null ? null : trusting([...(deps.ca === undefined ? usualAuthorities() : [deps.ca]), ca]),
  };
  return Object.fromEntries(
    Object.entries(ways).map(([name, way]) => [
      name,
      way.kind === 'unusable' ? refusingDialer(way.problem) : new ProxyDialer(way, parts),
    ]),
  );
}

interface DialerParts {
  readonly clock: Clock;
  /** For the names of proxies, not of targets. */
  readonly resolver: Resolver;
  /** Read at the first connection, then shared by all: there are 150 authorities. Null for the default. */
  readonly context: (() => SecureContext) | null;
}

function usualAuthorities(): readonly string[] {
  return getCACertificates('default');
}

function trusting(ca: readonly string[]): () => SecureContext {
  let context: SecureContext | null = null;
  return () => {
    context ??= createSecureContext({ ca: [...ca] });
    return context;
  };
}

/** For a proxy that is not configured: a visit that asked for it must not use our own address instead. */
function refusingDialer(problem: string): Dialer {
  const failed = { kind: 'failed', failure: failure('proxy_config', problem) } as const;
  return { connectionKey: () => '', dial: async () => failed };
}

/** The proxy itself gets this share of the time, so that a dead one is not mistaken for a slow target. */
const PROXY_SHARE = 0.75;

class ProxyDialer implements Dialer {
  readonly resolvesNames = true;
  readonly #way: UsableWay;
  readonly #parts: DialerParts;

  constructor(way: UsableWay, parts: DialerParts) {
    this.#way = way;
    this.#parts = parts;
  }

  /** No two sessions share one: some proxies offer a new exit with each connection. */
  connectionKey({ session, geo }: Parameters<Dialer['connectionKey']>[0]): string {
    return geo === undefined ? session : `${session} ${geo.country} ${geo.state ?? ''} ${geo.city ?? ''}`;
  }

  async dial(target: DialTarget, signal: AbortSignal): Promise<Dialled> {
    const { clock } = this.#parts;
    const server = chooseProxy(this.#way, target.session, target.geo, digest);
    const reached = await this.#reach(server, (target.deadline.at - clock.elapsed()) * PROXY_SHARE, signal);
    if (reached.kind === 'failed') return reached;
    const { socket } = reached;
    const bytes = new WireCount(socket);
    let isMade = false;
    try {
      const dialled = await (isSocks(server)
        ? this.#throughSocks(server, socket, target, signal)
        : this.#throughHttp(server, socket, target, signal));
      isMade = dialled.kind === 'connected';
      return dialled;
    } catch (error) {
      socket.destroy();
      signal.throwIfAborted();
      return { kind: 'failed', failure: translateError(error, target.deadline.ms) };
    } finally {
      if (!isMade && target.usage !== null) bytes.addTo(target.usage);
    }
  }

  /** Connects to the proxy, not beyond it. */
  async #reach(server: ProxyServer, ms: number, signal: AbortSignal) {
    const { clock, resolver, context } = this.#parts;
    const startedAt = clock.elapsed();
    const resolved = await resolver.resolve(server.hostname, signal, Math.max(0, ms));
    if (resolved.kind === 'failed') return unreachable(server, resolved.failure.message, resolved.failure.cause);
    const tls =
      server.protocol === 'https'
        ? { hostname: server.hostname, ...(context === null ? {} : { context: context() }) }
        : null;
    try {
      const leftMs = ms - (clock.elapsed() - startedAt);
      const socket = await connectTo(resolved.addresses, server.port, tls, leftMs, clock, signal);
      return { kind: 'reached', socket } as const;
    } catch (error) {
      signal.throwIfAborted();
      const { message, cause } = translateError(error, Math.round(ms));
      if (!isAboutCertificate(error)) return unreachable(server, message, cause);
      const what = `the proxy ${showProxyServer(server)} cannot be trusted: ${message}; check PROXY_URL and PROXY_CA_FILE`;
      return { kind: 'failed', failure: failure('proxy_config', `${what}, then resume the job`, { cause }) } as const;
    }
  }

  async #throughSocks(server: ProxyServer, socket: Socket, target: DialTarget, signal: AbortSignal): Promise<Dialled> {
    const host = server.protocol === 'socks5h' ? target.hostname : addressOf(target);
    if (host === null) {
      socket.destroy();
      const advice = 'socks5h:// lets the proxy look names up';
      return { kind: 'failed', failure: failure('network_error', `${target.hostname} has no address here; ${advice}`) };
    }
    const refused = await openSocksTunnel(socket, { host, port: target.port }, server, this.#time(target, signal));
    if (refused !== null) return { kind: 'failed', failure: refused };
    return { kind: 'connected', socket: await this.#secured(socket, target, signal) };
  }

  async #throughHttp(server: ProxyServer, socket: Socket, target: DialTarget, signal: AbortSignal): Promise<Dialled> {
    const authorization = basic(server);
    if (target.tls === null && !target.isTunnel) return { kind: 'connected', socket, via: forwarding(authorization) };
    const host = target.hostname.includes(':') ? `[${target.hostname}]` : target.hostname;
    let answer: Awaited<ReturnType<typeof openTunnel>>;
    try {
      answer = await openTunnel(socket, `${host}:${target.port}`, authorization, this.#time(target, signal));
    } catch (error) {
      signal.throwIfAborted();
      const { type, message, cause } = translateError(error, target.deadline.ms);
      // The target may be the slow one; everything else is between the proxy and us.
      if (type === 'timeout') return { kind: 'failed', failure: failure(type, message, { cause }) };
      return unreachable(server, message, cause);
    }
    const refused = judgeProxyAnswer({ at: 'connect', ...answer });
    if (refused !== null) {
      socket.destroy();
      return { kind: 'failed', failure: refused };
    }
    try {
      const secured = await this.#secured(socket, target, signal);
      return { kind: 'connected', socket: secured, ...(this.#decrypts() && { via: DECRYPTED }) };
    } catch (error) {
      if (!this.#decrypts() || !isAboutCertificate(error)) throw error;
      const what = 'the proxy decrypts https, with a certificate that we do not trust';
      const advice = "set PROXY_CA_FILE to the provider's certificate, then resume the job";
      return { kind: 'failed', failure: failure('proxy_config', `${what}; ${advice}`, { cause: error }) };
    }
  }

  #decrypts(): boolean {
    return this.#way.kind === 'bright-data' && this.#way.type === 'web_unlocker';
  }

  async #secured(socket: Socket, { tls, deadline }: DialTarget, signal: AbortSignal): Promise<Socket> {
    if (tls === null) return socket;
    const { clock, context } = this.#parts;
    const target = context === null ? tls : { hostname: tls.hostname, context: context() };
    return secure(socket, target, deadline.at, clock, signal);
  }

  #time({ deadline }: DialTarget, signal: AbortSignal) {
    const { clock } = this.#parts;
    return { ms: Math.max(0, deadline.at - clock.elapsed()), clock, signal };
  }
}

function digest(text: string): string {
  return hash('sha256', text);
}

function isSocks({ protocol }: ProxyServer): boolean {
  return protocol === 'socks5' || protocol === 'socks5h';
}

/** The exits of proxies seldom have IPv6. */
function addressOf({ addresses }: DialTarget): string | null {
  return (addresses.find(({ family }) => family === 4) ?? addresses[0])?.address ?? null;
}

function basic({ user, password }: ProxyServer): string | null {
  if (user === '' && password === '') return null;
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function forwarding(authorization: string | null): ViaProxy {
  return {
    forwardHeaders: authorization === null ? [] : ['proxy-authorization', authorization],
    judge: (status, headers) => judgeProxyAnswer({ at: 'forwarded', status, headers }),
  };
}

const DECRYPTED: ViaProxy = {
  forwardHeaders: null,
  judge: (status, headers) => judgeProxyAnswer({ at: 'decrypted', status, headers }),
};

function unreachable(server: ProxyServer, message: string, cause: string | null) {
  const what = `the proxy ${showProxyServer(server)} cannot be reached: ${message}`;
  return { kind: 'failed', failure: failure('proxy_error', what, { cause }) } as const satisfies {
    kind: string;
    failure: Failure;
  };
}

/** OpenSSL's messages for a certificate that has expired, is for another host, or is signed by an unknown authority. */
function isAboutCertificate(error: unknown): boolean {
  return /CERT|VERIFY|ISSUER/.test(errorCode(error) ?? '');
}
