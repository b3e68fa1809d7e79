import { type Failure, failure } from '../domain/failure.ts';
import type { Clock } from '../ports/clock.ts';
import type { AddressRules } from './address-rules.ts';
import { checkHeaderValue, checkRequest } from './check-request.ts';
import { type Connection, ConnectionPool, type PoolLimits } from './connection-pool.ts';
import { DeadlineWatch } from './deadline-watch.ts';
import { connectTo } from './direct-dialer.ts';
import { type ExchangeEnd, exchange } from './exchange.ts';
import { Leash } from './leash.ts';
import { openNameLookup } from './name-lookup.ts';
import { isRedirect, nextHop } from './redirects.ts';
import { type Lookup, openResolver } from './resolver.ts';
import type { Place, Routes } from './routes.ts';
import { parseTarget, type Target } from './target.ts';
import { translateError } from './translate-error.ts';
import type { Redirect, Visit, Web, WebAnswer, WebFailed, WebRequest } from './web.ts';

export interface WebParts {
  readonly rules: AddressRules;
  readonly routes: Routes;
  readonly clock: Clock;
  /** Instead of DNS. */
  readonly lookup?: Lookup;
  /** `ip`, `ip:port` or `[ip]:port`; none for those of the system. */
  readonly dnsServers?: readonly string[];
  /** Authorities to trust instead of the usual ones, in PEM. */
  readonly ca?: string;
  readonly pool?: PoolLimits;
}

export interface OpenWeb extends Web {
  /** Ends all connections. What is under way fails, and so does what comes after. */
  close(): Promise<void>;
}

export function openWeb({ rules, routes, clock, lookup, dnsServers = [], ca, pool: poolLimits }: WebParts): OpenWeb {
  const names = openNameLookup({ clock, servers: dnsServers });
  const resolver = openResolver({ rules, clock, lookup: lookup ?? names.lookup });
  const pool = new ConnectionPool(poolLimits);
  const watch = new DeadlineWatch(clock);
  const underWay = new Set<Leash>();
  let isClosed = false;

  return {
    async send(request, visit) {
      checkRequest(request);
      if (visit.signal.aborted) {
        // Not at once: a loop that tries for ever would keep everything else from running.
        await clock.turn();
        visit.signal.throwIfAborted();
      }
      const leash = new Leash(visit, watch, clock);
      underWay.add(leash);
      if (isClosed) leash.stop(CLOSED);
      try {
        return await follow(request, visit, leash);
      } finally {
        underWay.delete(leash);
        leash.end();
      }
    },
    async close() {
      isClosed = true;
      for (const leash of underWay) leash.stop(CLOSED);
      watch.close();
      names.close();
      await pool.close();
    },
  };

  /** The request, and whatever it is redirected to. */
  async function follow(first: WebRequest, visit: Visit, leash: Leash): Promise<WebAnswer | WebFailed> {
    const redirects: Redirect[] = [];
    let request = first;
    for (;;) {
      const target = parseTarget(request.url);
      const url = target.kind === 'target' ? target.url : withoutUser(request.url);
      const failed = (what: Failure): WebFailed => ({ kind: 'failed', failure: what, url, redirects, ms: leash.ms });
      if (target.kind === 'failed') return failed(refusedAfter(redirects.at(-1), url, target.failure));
      request = withUser(request, target);

      const end = await hop(target, request, visit, leash);
      if (end.kind === 'thrown') throw end.error;
      if (end.kind === 'failed') return failed(refusedAfter(redirects.at(-1), url, end.failure));
      if (end.kind === 'stopped') {
        if (leash.stopped?.kind === 'failed') return failed(leash.stopped.failure);
        throw visit.signal.reason;
      }

      const { status, headers, setCookie, body, bytes, rawBytes } = end;
      if (setCookie.length > 0) visit.cookies.keep(url, setCookie);
      if (!isRedirect(status)) {
        return { kind: 'answer', status, headers, url, body, redirects, bytes, rawBytes, ms: leash.ms };
      }
      const next = nextHop(request, url, status, headers['location']);
      if (next.kind === 'failed') return failed(next.failure);
      if (redirects.length >= visit.limits.redirects) return failed(tooManyRedirects(redirects, next.request.url));
      redirects.push({ url, status });
      request = next.request;
    }
  }

  /** One hop, in its turn. */
  async function hop(
    target: Target,
    request: WebRequest,
    visit: Visit,
    leash: Leash,
  ): Promise<Exclude<ExchangeEnd, { kind: 'stale' }>> {
    const host = target.origin.slice(target.protocol.length + 2);
    const release = await leash.turn(() => visit.turn(host));
    if (release === null) return { kind: 'stopped' };
    try {
      const place = routes.to(target);
      const key = `${target.origin} ${place.protocol}${place.hostname}:${place.port}`;
      const headers = headersFor(target, request, visit);
      const path = target.url.slice(target.origin.length);
      const { method, body } = request;
      for (let known = await rested(key); ; known = null) {
        const opened = known ?? (await open(target, place, key, visit, leash));
        if ('kind' in opened) return opened;
        const hopParts = { connection: opened, pool, method, url: target.url, path, headers, body, visit, leash };
        const end = await exchange(hopParts);
        if (end.kind !== 'stale') return end;
      }
    } finally {
      release();
    }
  }

  /**
   * A connection that was used before, and has been quiet for a whole turn of the event loop since: what its server sent
   * behind its last answer, or that it has hung up, has been heard by then.
   */
  async function rested(key: string): Promise<Connection | null> {
    for (let connection = pool.take(key); connection !== null; connection = pool.take(key)) {
      await clock.turn();
      if (!connection.isClosed) return connection;
    }
    return null;
  }

  /** A new connection, to an address that was looked up and judged for it. */
  async function open(
    target: Target,
    place: Place,
    key: string,
    { deadlines }: Visit,
    leash: Leash,
  ): Promise<Connection | Extract<ExchangeEnd, { kind: 'failed' | 'stopped' }>> {
    const stopping = new AbortController();
    leash.onStop(() => stopping.abort());
    leash.begin('connection', deadlines.connectMs);
    const startedAt = clock.elapsed();
    try {
      const resolved = await resolver.resolve(place.hostname, stopping.signal, deadlines.connectMs);
      if (resolved.kind === 'failed') return resolved;
      const leftMs = deadlines.connectMs - (clock.elapsed() - startedAt);
      const tls =
        place.protocol === 'https:' ? { hostname: target.hostname, ...(ca === undefined ? {} : { ca }) } : null;
      const socket = await connectTo(resolved.addresses, place.port, tls, leftMs, clock, stopping.signal);
      const connection = pool.add(key, target.origin, socket);
      if (leash.stopped === null) return connection;
      connection.destroy();
      return { kind: 'stopped' };
    } catch (error) {
      if (leash.stopped !== null) return { kind: 'stopped' };
      return { kind: 'failed', failure: translateError(error, deadlines.connectMs) };
    } finally {
      leash.onStop(null);
    }
  }
}

const CLOSED = { kind: 'failed', failure: failure('network_error', 'the way to the web was closed') } as const;

/** A site that sends its visitors where they may not go: the message names it, for the address alone explains nothing. */
function refusedAfter(from: Redirect | undefined, url: string, what: Failure): Failure {
  if (from === undefined || what.type !== 'refused_address') return what;
  return failure(what.type, `${from.url} redirects to ${url}: ${what.message}`);
}

function tooManyRedirects(redirects: readonly Redirect[], last: string): Failure {
  const loop = redirects.some(({ url }) => url === last) ? ' (in a circle)' : '';
  return failure(
    'navigation_failed',
    `more than ${redirects.length} redirects${loop}, the last to ${withoutUser(last)}`,
  );
}

/** User and password of a URL, as a header: it goes along, or stays behind, on a redirect like any other. */
function withUser(request: WebRequest, { authorization }: Target): WebRequest {
  if (authorization === null || request.headers['authorization'] !== undefined) return request;
  return { ...request, headers: { ...request.headers, authorization } };
}

function headersFor(target: Target, request: WebRequest, visit: Visit): string[] {
  const headers: string[] = [];
  for (const name in request.headers) headers.push(name, request.headers[name] ?? '');
  const cookie = visit.cookies.header(target.url);
  if (cookie !== null && cookie !== '') {
    checkHeaderValue('cookie', cookie);
    headers.push('cookie', cookie);
  }
  return headers;
}

const SHOWN_LENGTH = 500;

/** For messages about a URL that is no target: a password in it is nobody's business. */
function withoutUser(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text.slice(0, SHOWN_LENGTH);
  url.username = '';
  url.password = '';
  return url.href.slice(0, SHOWN_LENGTH);
}
