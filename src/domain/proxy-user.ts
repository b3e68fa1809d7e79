import type { Digest } from './artifact.ts';
import { type GeoTarget, type ProxyType, plainCity, supportedGeo } from './proxy-policy.ts';

/** An account at Bright Data, and the zone in which one kind of proxy is booked. */
export interface ProxyAccount {
  readonly customer: string;
  readonly zone: string;
}

const PREFIX = 'brd-customer-';

/**
 * The user name by which Bright Data's proxies choose an exit. A session keeps its exit until it was idle for five
 * minutes; another session gets another one.
 */
export function brightDataUser(
  type: ProxyType,
  { customer, zone }: ProxyAccount,
  geo: GeoTarget | null,
  sessionId: string,
): string {
  const { country, state, city } = supportedGeo(type, geo);
  const parts = [
    customer.startsWith(PREFIX) ? customer : `${PREFIX}${customer}`,
    `zone-${zone}`,
    ...(country === undefined ? [] : [`country-${country}`]),
    ...(state === undefined ? [] : [`state-${state}`]),
    ...(city === undefined ? [] : [`city-${plainCity(city)}`]),
    `session-${sessionId}`,
  ];
  return parts.join('-').toLowerCase();
}

const SESSION_LENGTH = 20;

/** Letters and digits (`digest` is hexadecimal), whatever ids a session is named after, and unique to the session. */
export function sessionIdOf(session: string, digest: Digest): string {
  return digest(session).slice(0, SESSION_LENGTH);
}

/**
 * The proxy of a list that a session uses. A visitor's sessions end in a number, and the next number selects the next
 * proxy: a visitor who was blocked must not come back through the same one.
 */
export function proxyInList(session: string, count: number, digest: Digest): number {
  const [, visitor = '', turn = ''] = /^(.*?)(\d{0,9})$/s.exec(session) ?? [];
  return (Number.parseInt(digest(visitor).slice(0, 8), 16) + Number(turn)) % count;
}
