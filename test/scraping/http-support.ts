import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { compileHosts } from '../../src/domain/allowed-hosts.ts';
import type { Failure, FailureType } from '../../src/domain/failure.ts';
import { NO_SECRETS } from '../../src/domain/secrets.ts';
import { parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import { openWeb } from '../../src/egress/open-web.ts';
import { PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import type { HostGate } from '../../src/ports/host-gate.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import { BatchScope } from '../../src/scraping/batch-scope.ts';
import { VisitCookies } from '../../src/scraping/http/cookies.ts';
import { HttpClient } from '../../src/scraping/http/http-client.ts';
import { chooseIdentity } from '../../src/scraping/http/identity.ts';
import { RequestLog } from '../../src/scraping/http/request-log.ts';
import { compileSigns, type Signs } from '../../src/scraping/page/signs.ts';
import { UNCHECKED } from '../../src/scraping/robots/robots-check.ts';
import { ScrapeFailure } from '../../src/scraping/scrape-failure.ts';
import type { ScrapeContext, ScrapeTools } from '../../src/scraping/scraper.ts';
import { UsageMeter } from '../../src/scraping/usage-meter.ts';
import { NOW, policyOf } from '../support/builders.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { sharedStates } from '../support/no-tools.ts';

/** A request that a site received. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  /** Path and query, as they were sent. */
  readonly target: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** The bytes as they came. */
  readonly bytes: Uint8Array;
  /** The fields of a urlencoded body. */
  readonly form: URLSearchParams;
  readonly cookies: ReadonlyMap<string, string>;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array;
}

export interface Site {
  readonly origin: string;
  readonly host: string;
  readonly asked: Asked[];
}

/** A site on this machine for one test. A text is a page. */
export async function openSite(
  t: TestContext,
  answer: (asked: Asked, response: ServerResponse) => Reply | string | null | Promise<Reply | string | null>,
): Promise<Site> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const seen = await readRequest(request);
    asked.push(seen);
    const reply = await answer(seen, response);
    // Null: it was answered already.
    if (reply !== null) send(response, typeof reply === 'string' ? { body: reply } : reply);
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await listening;
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const host = `127.0.0.1:${address.port}`;
  return { origin: `http://${host}`, host, asked };
}

async function readRequest(request: IncomingMessage): Promise<Asked> {
  const url = new URL(request.url ?? '/', 'http://site');
  const bytes = await buffer(request);
  const body = bytes.toString('utf8');
  const cookies = (request.headers.cookie ?? '').split('; ').filter(Boolean);
  return {
    method: request.method ?? '',
    path: url.pathname,
    target: request.url ?? '',
    query: url.searchParams,
    headers: request.headers as Record<string, string | undefined>,
    body,
    bytes,
    form: new URLSearchParams(body),
    cookies: new Map(cookies.map((each) => [each.split('=')[0] ?? '', each.slice(each.indexOf('=') + 1)])),
  };
}

function send(response: ServerResponse, { status = 200, headers = {}, body = '' }: Reply): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers });
  response.end(body);
}

/** The real way to the web, to loopback. */
export function webTools(t: TestContext, gate: HostGate = new PoliteHostGate({ clock: systemClock() })): ScrapeTools {
  const rules = new AddressRules(parseAddressRanges('loopback'));
  const web = openWeb({ rules, routes: parseRoutes(''), clock: systemClock() });
  t.after(() => web.close());
  const log = { debug: () => {}, info: () => {}, warn: () => {} };
  return {
    web,
    gate,
    log,
    secrets: NO_SECRETS,
    states: sharedStates(),
    robots: UNCHECKED,
    browser: null,
    siteTools: null,
    allowsScripts: false,
  };
}

/** A client as a scraper gets it. */
export function openClient(
  t: TestContext,
  {
    hosts = [],
    signs = {},
    tools = webTools(t),
    store = openMemoryResultStore(),
    limits = { pageBytes: 1 << 20, documentBytes: 10 << 20 },
    signal = new AbortController().signal,
    timeouts = {},
    maxRetryAfterMs = 3_600_000,
    startsOver = () => false,
    maxRetries = 3,
  }: {
    hosts?: readonly string[];
    signs?: Signs;
    tools?: ScrapeTools;
    store?: Pick<ResultStore, 'draft'>;
    limits?: { pageBytes: number; documentBytes: number };
    signal?: AbortSignal;
    timeouts?: { request_timeout_seconds?: number };
    maxRetryAfterMs?: number;
    startsOver?: (failure: Failure) => boolean;
    maxRetries?: number;
  } = {},
): HttpClient {
  return new HttpClient({
    tools,
    identity: chooseIdentity({ jobId: 'job-1', itemId: 'item-1', identity: 0 }),
    exits: () => ({ dialer: 'direct', session: '' }),
    usage: new UsageMeter().through('none'),
    timeouts: policyOf({ timeouts }).timeouts,
    maxRetryAfterMs,
    limits,
    signs: compileSigns(signs),
    allowsHost: compileHosts(hosts),
    signal,
    maxRetries,
    isAdaptive: true,
    robots: null,
    cookies: new VisitCookies(),
    requests: new RequestLog(),
    now: () => NOW,
    startsOver,
    sleep: async () => {},
    draft: () => store.draft(),
  });
}

export function contextOf(tools: ScrapeTools, context: Partial<ScrapeContext> = {}): ScrapeContext {
  const store = openMemoryResultStore();
  const all: ScrapeContext = {
    jobId: 'job-1',
    jobCreatedAt: 0,
    itemId: 'item-1',
    input: {},
    policy: policyOf(),
    depth: 0,
    tryNumber: 1,
    identity: 0,
    proxyType: 'none',
    proxySession: 0,
    batch: new BatchScope(),
    usage: new UsageMeter(),
    tools,
    signal: new AbortController().signal,
    now: () => NOW,
    sleep: async () => {},
    isRetried: () => false,
    waitUncounted: (wait) => wait(),
    draft: () => store.draft(),
    withInput: (input) => ({ ...all, input }),
    ...context,
  };
  return all;
}

/** Asserts that it fails with this type and a message that matches. */
export async function failsAs(
  work: Promise<unknown> | (() => unknown),
  type: FailureType,
  message: RegExp = /./,
): Promise<void> {
  await assert.rejects(
    async () => (typeof work === 'function' ? work() : work),
    (error) => {
      if (!(error instanceof ScrapeFailure)) throw error;
      assert.equal(error.failure.type, type, error.message);
      assert.match(error.message, message);
      return true;
    },
  );
}
