import type { Digest } from './artifact.ts';
import type { GeoTarget, ProxyType } from './proxy-policy.ts';
import type { ProxyServer } from './proxy-server.ts';
import { brightDataUser, type ProxyAccount, proxyInList, sessionIdOf } from './proxy-user.ts';

/** How to use a kind of proxy on this installation. */
export type ProxyWay =
  | {
      readonly kind: 'bright-data';
      readonly type: ProxyType;
      readonly server: ProxyServer;
      readonly account: ProxyAccount;
      readonly password: string;
    }
  /** At least one; a session chooses one of them. */
  | { readonly kind: 'list'; readonly servers: readonly ProxyServer[] }
  /** Settings are missing: the problem says which. */
  | { readonly kind: 'unusable'; readonly problem: string };

export type UsableWay = Exclude<ProxyWay, { kind: 'unusable' }>;

/** The proxy for a session, with the user name that identifies the session if the proxy supports sessions. */
export function chooseProxy(way: UsableWay, session: string, geo: GeoTarget | null, digest: Digest): ProxyServer {
  if (way.kind === 'bright-data') {
    const { type, server, account, password } = way;
    return { ...server, user: brightDataUser(type, account, geo, sessionIdOf(session, digest)), password };
  }
  const server = way.servers[proxyInList(session, way.servers.length, digest)];
  if (server === undefined) throw new RangeError('a list of proxies must not be empty');
  return server;
}
