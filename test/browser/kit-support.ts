import { after, type TestContext } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { systemClock } from '../../src/adapters/system/clock.ts';
import type { Failure } from '../../src/domain/failure.ts';
import { parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import { openBrowserEgress } from '../../src/egress/browser/browser-egress.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import type { BrowserContexts, BrowserSession } from '../../src/ports/browser-provider.ts';
import type { HostGate } from '../../src/ports/host-gate.ts';
import {
  type BrowserScrapeContext,
  type BrowserScrapeResult,
  defineBrowserScraper,
  z,
} from '../../src/scraping/author.ts';
import type { BrowserTools } from '../../src/scraping/browser/browser-tools.ts';
import { guardedWays } from '../../src/scraping/browser/guarded-ways.ts';
import { KeptContexts } from '../../src/scraping/browser/kept-contexts.ts';
import { Suspects } from '../../src/scraping/browser/suspects.ts';
import type { Signs } from '../../src/scraping/page/signs.ts';
import type { ScrapeContext, ScrapeResult, Scraper, ScrapeTools } from '../../src/scraping/scraper.ts';
import { sparingArgs } from '../../src/sessions/local/sparing-args.ts';
import { contextOf, webTools } from '../scraping/http-support.ts';
import { policyOf } from '../support/builders.ts';
import { testChromium } from '../support/chromium.ts';

const clock = systemClock();

/** One browser for the tests of a file, or of one test, and its tools as a worker lends them. */
export function browserTools({
  routes = '',
  t,
}: {
  routes?: string;
  t?: TestContext;
} = {}): BrowserTools & { pids(): readonly number[] } {
  const egress = openBrowserEgress({
    ...{ rules: new AddressRules(parseAddressRanges('loopback')), routes: parseRoutes(routes), clock },
  });
  let session: (BrowserSession & { readonly pid: number }) | null = null;
  let starting: ReturnType<typeof startBrowser> | null = null;
  const kept = new KeptContexts(clock);
  const close = async () => {
    await kept.close();
    await session?.kill();
    await egress.close();
  };
  if (t === undefined) after(close);
  else t.after(close);
  const contexts: BrowserContexts = {
    async open(options) {
      if (session === null || session.gone.aborted) {
        // There is one for all callers that ask at the same time.
        starting ??= startBrowser(egress.launchArgs);
        session = await starting;
        starting = null;
      }
      const held = session;
      const context = await held.browser.newContext(options);
      return {
        session: held,
        context,
        async release(end) {
          if (end === 'spoilt') await held.kill();
          else await context.close();
        },
      };
    },
  };
  return {
    ...{ contexts, ways: guardedWays(egress, 'local'), suspects: new Suspects(), kept, clock },
    pids: () => (session === null ? [] : [session.pid]),
  };
}

async function startBrowser(args: readonly string[]): Promise<BrowserSession & { readonly pid: number }> {
  const { path, sandbox } = await testChromium();
  const server = await chromium.launchServer({
    executablePath: path,
    args: [...sparingArgs({ sandbox, headless: true }), ...args],
    ...{ handleSIGHUP: false, handleSIGINT: false, handleSIGTERM: false, chromiumSandbox: sandbox },
  });
  const browser: Browser = await chromium.connect(server.wsEndpoint());
  const gone = new AbortController();
  browser.on('disconnected', () => gone.abort(new Error('the browser ended')));
  const pid = server.process().pid ?? 0;
  return {
    ...{ id: String(pid), pid, provider: 'local', browser, contexts: 'own', gone: gone.signal },
    pids: () => [pid],
    memoryBytes: () => null,
    async isHealthy(ms) {
      const late = new AbortController();
      const asked = browser.newBrowserCDPSession().then(async (cdp) => {
        await cdp.send('Browser.getVersion');
        await cdp.detach();
        return true;
      });
      const isWell = await Promise.race([asked.catch(() => false), clock.sleep(ms, late.signal).then(() => false)]);
      late.abort();
      return isWell;
    },
    close: () => server.close(),
    kill: () => server.kill(),
  };
}

/** What a scraper with a browser is given for one try. */
export function browserContext(
  t: TestContext,
  browser: BrowserTools,
  {
    policy = {},
    gate,
    log,
    ...context
  }: Partial<Omit<ScrapeContext, 'policy'>> & {
    policy?: Parameters<typeof policyOf>[0];
    gate?: HostGate;
    log?: ScrapeTools['log'];
  } = {},
): ScrapeContext {
  const tools = gate === undefined ? webTools(t) : webTools(t, gate);
  const lent = { ...tools, browser, ...(log !== undefined && { log }) };
  return contextOf(lent, { policy: policyOf(policy), ...context });
}

/** A scraper for one test, of which only `scrape` matters. */
export function scraperOf(
  hosts: readonly string[],
  scrape: (context: BrowserScrapeContext<Record<string, unknown>>) => Promise<BrowserScrapeResult<unknown>>,
  more: {
    readonly signs?: Signs;
    readonly limits?: { readonly documentBytes?: number; readonly visitBytes?: number };
  } = {},
): Scraper {
  return defineBrowserScraper({
    ...{ id: 'county', name: 'County', version: '1.0.0', description: 'a county', hosts, ...more },
    input: z.record(z.string(), z.unknown()),
    output: z.unknown(),
    scrape,
  });
}

export function dataOf(result: ScrapeResult): unknown {
  if (result.kind !== 'scraped') throw new Error(`not scraped: ${JSON.stringify(result)}`);
  const bytes = result.artifacts.find(({ kind }) => kind === 'data')?.bytes;
  return JSON.parse(Buffer.from(bytes as Uint8Array).toString());
}

export function failureOf(result: ScrapeResult): Failure {
  if (result.kind !== 'failed') throw new Error(`did not fail: ${JSON.stringify(result)}`);
  return result.failure;
}
