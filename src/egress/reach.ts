import { type Failure, failure } from '../domain/failure.ts';
import type { Counting } from '../domain/usage.ts';
import type { Clock } from '../ports/clock.ts';
import type { AddressRules } from './address-rules.ts';
import type { Dialer, Dialled } from './dialer.ts';
import { DIRECT, directDialer } from './direct-dialer.ts';
import { openNameLookup } from './name-lookup.ts';
import { type Proxies, proxyDialers } from './proxy-dialers.ts';
import { mayBeKnownElsewhere } from './public-name.ts';
import { type Lookup, openResolver } from './resolver.ts';
import type { Endpoint, Routes } from './routes.ts';
import type { Target } from './target.ts';
import type { Exit } from './web.ts';

export interface ReachDeps {
  readonly rules: AddressRules;
  readonly routes: Routes;
  readonly clock: Clock;
  /** By name, in addition to `direct` and those of `proxies`. */
  readonly dialers?: Readonly<Record<string, Dialer>>;
  /** Kinds of proxy, each of which is a dialer of that name. */
  readonly proxies?: Proxies;
  /** Replaces DNS. */
  readonly lookup?: Lookup;
  /** `ip`, `ip:port` or `[ip]:port`; empty for the system's. */
  readonly dnsServers?: readonly string[];
  /** Authorities to trust instead of the default ones, in PEM. */
  readonly ca?: string;
}

/**
 * Makes every connection to a target, both for our own client and for browsers. The name is looked up once, all of its
 * addresses are checked, and one of those is dialled.
 */
export interface Reach {
  /** Null if there is no dialer of that name. */
  dialer(name: string): Dialer | null;
  /** Where connections to the target go. */
  endpoint(target: Target): Endpoint;
  /** Rejects when `signal` aborts. */
  connect(way: Connecting, signal: AbortSignal): Promise<Dialled>;
  close(): void;
}

interface Connecting {
  readonly target: Target;
  readonly endpoint: Endpoint;
  readonly dialer: Dialer;
  readonly exit: Exit;
  readonly connectMs: number;
  readonly usage: Counting | null;
  /** The caller speaks TLS or WebSocket over it, and needs a connection that only carries bytes. */
  readonly isTunnel: boolean;
}

export function openReach(deps: ReachDeps): Reach {
  const { rules, routes, clock, dialers = {}, proxies, dnsServers = [], ca } = deps;
  const names = openNameLookup({ clock, servers: dnsServers });
  const lookup = deps.lookup ?? names.lookup;
  const resolver = openResolver({ rules, clock, lookup });
  const proxied = proxies === undefined ? {} : proxyDialers(proxies, { clock, lookup, ca });
  const byName = new Map(Object.entries({ ...dialers, ...proxied, [DIRECT]: directDialer(clock) }));
  return {
    dialer: (name) => byName.get(name) ?? null,
    endpoint: (target) => routes.to(target),
    async connect({ target, endpoint, dialer, exit, connectMs, usage, isTunnel }, signal) {
      const startedAt = clock.elapsed();
      const { protocol, hostname, port } = endpoint;
      const isRemote = dialer.resolvesNames === true;
      const lookupMs = isRemote ? Math.min(REMOTE_LOOKUP_MS, connectMs) : connectMs;
      const resolved = await resolver.resolve(hostname, signal, lookupMs);
      if (resolved.kind === 'failed' && !(isRemote && mayBeKnownElsewhere(hostname, resolved.failure))) return resolved;
      const addresses = resolved.kind === 'failed' ? [] : resolved.addresses;
      const isSecured = protocol === 'https:' && !isTunnel;
      const tls = isSecured ? { hostname: target.hostname, ...(ca === undefined ? {} : { ca }) } : null;
      const deadline = { at: startedAt + connectMs, ms: connectMs };
      const { session, geo = null } = exit;
      return dialer.dial({ hostname, port, addresses, tls, isTunnel, session, geo, deadline, usage }, signal);
    },
    close: () => names.close(),
  };
}

/** Through a proxy, a lookup only serves the address rules. A machine without DNS must still reach its proxy. */
const REMOTE_LOOKUP_MS = 2000;

/** A visit that asked for a proxy must not use our own address instead. */
export function noDialer(name: string): Failure {
  return failure('proxy_config', `no dialer named "${name}" is configured`);
}
