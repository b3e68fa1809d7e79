import type { BrowserRules, OpenedTab } from '../browser/browser-companion.ts';
import { BrowserIdentity } from '../browser/browser-identity.ts';
import { CookieBridge } from '../browser/cookie-bridge.ts';
import type { WithInput } from '../define-scraper.ts';
import { exitsFor } from '../exit-for.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { Identity } from '../http/identity.ts';
import { clientOpener, type OpenClient } from '../http/open-client.ts';
import { robotsVisitor } from '../http/robots-visitor.ts';
import { compileSigns } from '../page/signs.ts';
import type { ScrapeContext, ScrapeResult } from '../scraper.ts';
import { type SiteResult, visitSite } from '../visit-site.ts';
import { BatchBrowser, withUserAgent } from './batch-browser.ts';
import { BatchPace } from './batch-pace.ts';
import { pageData } from './page-data.ts';
import type { pageInput } from './page-input.ts';

/** Requests about a documentation site: over HTTP or in the browser of the batch, with the delay between them. */

export type PageContext = WithInput<ScrapeContext, typeof pageInput>;

/** Keeps requests of the batch apart. */
export type Send = <T>(request: () => Promise<T>) => Promise<T>;

const MIB = 1 << 20;

/** Documentation writes about maintenance and captchas: what a page says is no reason to take it for one of those. */
const RULES: BrowserRules = {
  signs: compileSigns({ blocked: [], maintenance: [] }),
  limits: { pageBytes: 32 * MIB, documentBytes: 32 * MIB, visitBytes: 256 * MIB },
  allowsHost: () => true,
};

const openClient: OpenClient = clientOpener(RULES);

function userAgentOf({ tools }: PageContext): string {
  return tools.siteTools?.userAgent ?? 'Trawl documentation archiver';
}

/** No browser is imitated. */
function archiver(userAgent: string): Identity {
  return { userAgent, clientHints: {}, acceptLanguage: 'en', acceptPage: 'text/html, */*;q=0.5' };
}

export async function visitByHttp(
  context: PageContext,
  scrape: (http: HttpClient, send: Send) => Promise<SiteResult<unknown>>,
): Promise<ScrapeResult> {
  const paced = withChanges(context, { tools: BatchPace.of(context.batch).tools(context) });
  return await visitSite(paced, {
    ...{ parser: null, output: pageData, limits: RULES.limits, items: null, open: openClient },
    identity: () => archiver(userAgentOf(context)),
    // Every request waits at the host's gate, redirects included.
    scrape: ({ http }) => scrape(http, (request) => request()),
  });
}

export async function visitInBrowser(
  given: PageContext,
  scrape: (tab: OpenedTab['tab'], send: Send) => Promise<SiteResult<unknown>>,
): Promise<ScrapeResult> {
  const userAgent = userAgentOf(given);
  const pace = BatchPace.of(given.batch);
  const tools = { ...given.tools, ...pace.robots(given) };
  const context = withChanges(given, { policy: withUserAgent(given.policy, userAgent), tools });
  const browser = BatchBrowser.of(context.batch);
  const identity = new BrowserIdentity(archiver(userAgent));
  const bridges = new WeakMap<HttpClient, CookieBridge>();
  return await visitSite<typeof pageInput, undefined, OpenedTab>(context, {
    ...{ parser: null, output: pageData, limits: RULES.limits, items: null },
    open: (who, from) => {
      const bridge = new CookieBridge(who.tools.web);
      const http = openClient({ ...who, identity, tools: { ...who.tools, web: bridge } }, from);
      bridges.set(http, bridge);
      return http;
    },
    accompany: ({ http, log }) =>
      browser.accompany({
        ...{ rules: RULES, log, http, context, tools: context.tools, signal: context.signal, identity },
        bridge: bridges.get(http) ?? null,
        exits: exitsFor(context),
        storage: null,
        // The batch keeps its context by itself.
        job: null,
        suspect: `${context.jobId}/${context.itemId}`,
        sleep: (ms) => context.sleep(ms),
      }),
    scrape: async ({ tab }) => {
      await checkRobots(context, identity);
      return await scrape(tab, (request) => pace.send(context, request));
    },
  });
}

/** Beforehand, so that a robots.txt which has to be loaded first has a turn of its own. */
async function checkRobots(context: PageContext, identity: Identity): Promise<void> {
  const { policy, tools, signal, input } = context;
  if (policy.robots !== 'respect' || input.delay_ms === 0) return;
  const { request_timeout_seconds: seconds, connect_timeout_seconds: connect } = policy.timeouts;
  const answerMs = seconds * 1000;
  const deadlines = { connectMs: connect * 1000, firstByteMs: answerMs, silenceMs: answerMs, totalMs: answerMs };
  const usage = context.usage.through(context.proxyType);
  await tools.robots.check(input.url, robotsVisitor({ identity, exits: exitsFor(context), usage }, deadlines), signal);
}

/** Field by field: the worker's own object makes them when they are asked for. */
function withChanges(context: PageContext, changes: Partial<Pick<PageContext, 'policy' | 'tools'>>): PageContext {
  const { jobId, jobCreatedAt, itemId, depth, tryNumber, identity, proxyType, proxySession, batch, usage } = context;
  const { input, signal, policy, tools, now, sleep, isRetried, waitUncounted, draft } = context;
  return {
    ...{ jobId, jobCreatedAt, itemId, depth, tryNumber, identity, proxyType, proxySession, batch, usage },
    ...{ input, signal, policy, tools, now, sleep, isRetried, waitUncounted, draft, ...changes },
    withInput: (checked) => context.withInput(checked),
  };
}
