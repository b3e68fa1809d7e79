import { type Failure, failure } from '../domain/failure.ts';
import type { Counting } from '../domain/usage.ts';
import { DeadlineWatch } from '../ports/deadline-watch.ts';
import { ActiveSend } from './active-send.ts';
import { checkHeaderValue, checkRequest } from './check-request.ts';
import { type Connection, ConnectionPool, type PoolLimits } from './connection-pool.ts';
import type { Dialer } from './dialer.ts';
import { enterHost } from './enter-host.ts';
import { type ExchangeDeps, type ExchangeEnd, exchange } from './exchange.ts';
import { noDialer, openReach, type ReachDeps } from './reach.ts';
import { isRedirect, nextHop } from './redirects.ts';
import { type Endpoint, endpointOrigin } from './routes.ts';
import { parseTarget, type Target } from './target.ts';
import { translateError } from './translate-error.ts';
import type { Redirect, Visit, Web, WebAnswer, WebFailed, WebRequest } from './web.ts';

export interface WebDeps extends ReachDeps {
  readonly pool?: PoolLimits;
}

export interface OpenWeb extends Web {
  /** Ends all connections. Requests in progress and later ones fail. */
  close(): Promise<void>;
}

export function openWeb(deps: WebDeps): OpenWeb {
  const { clock } = deps;
  const reach = openReach(deps);
  const pool = new ConnectionPool(deps.pool);
  const watch = new DeadlineWatch(clock);
  const underWay = new Set<ActiveSend>();
  let isClosed = false;

  return {
    async send(request, visit) {
      checkRequest(request);
      if (visit.signal.aborted) {
        // Not at once: a loop that retries forever would keep everything else from running.
        await clock.turn();
        visit.signal.throwIfAborted();
      }
      const active = new ActiveSend(visit, watch, clock);
      underWay.add(active);
      if (isClosed) active.stop(CLOSED);
      try {
        return await follow(request, visit, active);
      } finally {
        underWay.delete(active);
        active.end();
      }
    },
    async close() {
      isClosed = true;
      for (const active of underWay) active.stop(CLOSED);
      watch.close();
      reach.close();
      await pool.close();
    },
  };

  /** The request, and whatever it redirects to. */
  async function follow(first: WebRequest, visit: Visit, active: ActiveSend): Promise<WebAnswer | WebFailed> {
    const redirects: Redirect[] = [];
    let request = first;
    for (;;) {
      const target = parseTarget(request.url);
      const url = target.kind === 'target' ? target.url : withoutUser(request.url);
      const failed = (what: Failure): WebFailed => ({ kind: 'failed', failure: what, url, redirects, ms: active.ms });
      if (target.kind === 'failed') return failed(refusedAfter(redirects.at(-1), url, target.failure));
      request = withUser(request, target);

      const end = await hop(target, request, visit, active);
      if (end.kind === 'thrown') throw end.error;
      if (end.kind === 'failed') {
        const lost = end.isLost === true ? { isLost: end.isLost } : {};
        return { ...failed(refusedAfter(redirects.at(-1), url, end.failure)), ...lost };
      }
      if (end.kind === 'stopped') {
        if (active.stopped?.kind === 'failed') return failed(active.stopped.failure);
        throw visit.signal.reason;
      }

      const { status, headers, setCookie, body, bytes, rawBytes } = end;
      if (setCookie.length > 0) visit.cookies.keep(url, setCookie);
      if (!isRedirect(status)) {
        return { kind: 'answer', status, headers, url, body, redirects, bytes, rawBytes, ms: active.ms };
      }
      const next = nextHop(request, url, status, headers['location']);
      if (next.kind === 'failed') return failed(next.failure);
      if (redirects.length >= visit.limits.redirects) return failed(tooManyRedirects(redirects, next.request.url));
      redirects.push({ url, status });
      request = next.request;
    }
  }

  /** One hop, inside the host's gate. */
  async function hop(
    target: Target,
    request: WebRequest,
    visit: Visit,
    active: ActiveSend,
  ): Promise<Exclude<ExchangeEnd, { kind: 'stale' }>> {
    const host = target.origin.slice(target.protocol.length + 2);
    const { dialer: name } = visit.exit;
    const dialer = reach.dialer(name);
    if (dialer === null) return { kind: 'failed', failure: noDialer(name) };
    const release = await active.enter(() => enterHost(visit, host, target.url));
    if (release === null) return { kind: 'stopped' };
    const usage = visit.usage?.of(host) ?? null;
    try {
      const endpoint = reach.endpoint(target);
      const route = `${target.origin} ${endpoint.protocol}${endpoint.hostname}:${endpoint.port}`;
      const key = `${name}\n${dialer.connectionKey(visit.exit)}\n${route}`;
      const headers = headersFor(target, request, visit);
      const path = target.url.slice(target.origin.length);
      const { method, body } = request;
      for (let known = await rested(key); ; known = null) {
        const opened = known ?? (await open({ target, endpoint, dialer, key, usage }, visit, active));
        if ('kind' in opened) return opened;
        const hopDeps = {
          connection: opened,
          pool,
          method,
          url: target.url,
          path,
          headers,
          body,
          visit,
          active,
          usage,
        };
        const forward = opened.via === null ? null : opened.via.forwardHeaders;
        const end = await exchange(forward === null ? hopDeps : forwarded(hopDeps, forward, endpoint));
        if (end.kind !== 'stale') return end;
      }
    } finally {
      release();
    }
  }

  /**
   * A used connection that has been quiet for a whole turn of the event loop: by then we have noticed whether its
   * server sent more after its last answer, or hung up.
   */
  async function rested(key: string): Promise<Connection | null> {
    for (let connection = pool.take(key); connection !== null; connection = pool.take(key)) {
      await clock.turn();
      if (!connection.isClosed) return connection;
    }
    return null;
  }

  /** A new connection, to an address that was looked up and checked for it, whichever dialer makes it. */
  async function open(
    { target, endpoint, dialer, key, usage }: Opening,
    { deadlines, exit }: Visit,
    active: ActiveSend,
  ): Promise<Connection | Extract<ExchangeEnd, { kind: 'failed' | 'stopped' }>> {
    const stopping = new AbortController();
    active.onStop(() => stopping.abort());
    active.begin('connection', deadlines.connectMs);
    try {
      const way = { target, endpoint, dialer, exit, connectMs: deadlines.connectMs, usage, isTunnel: false };
      const dialled = await reach.connect(way, stopping.signal);
      if (dialled.kind === 'failed') return active.stopped === null ? dialled : { kind: 'stopped' };
      const connection = pool.add(key, target.origin, dialled.socket, dialled.via);
      if (active.stopped === null) return connection;
      connection.destroy();
      return { kind: 'stopped' };
    } catch (error) {
      if (active.stopped !== null) return { kind: 'stopped' };
      return { kind: 'failed', failure: translateError(error, deadlines.connectMs) };
    } finally {
      active.onStop(null);
    }
  }
}

interface Opening {
  readonly target: Target;
  readonly endpoint: Endpoint;
  readonly dialer: Dialer;
  readonly key: string;
  readonly usage: Counting | null;
}

/** The request in the form for a proxy that forwards it itself. */
function forwarded(hop: ExchangeDeps, headers: readonly string[], endpoint: Endpoint): ExchangeDeps {
  return { ...hop, path: `${endpointOrigin(endpoint)}${hop.path}`, headers: [...hop.headers, ...headers] };
}

const CLOSED = { kind: 'failed', failure: failure('network_error', 'the web client was closed') } as const;

/** A site redirected us to a forbidden address: the message names the site, because the address alone explains nothing. */
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

/** User and password of a URL, as a header. On a redirect it is kept or dropped like any other header. */
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

/** For messages about a URL that cannot be a target, without the password that may be in it. */
function withoutUser(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text.slice(0, SHOWN_LENGTH);
  url.username = '';
  url.password = '';
  return url.href.slice(0, SHOWN_LENGTH);
}
