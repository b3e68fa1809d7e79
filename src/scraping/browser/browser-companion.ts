import type { Page } from 'playwright-core';
import type { Policy } from '../../domain/policy.ts';
import type { BrowserVisit as EgressVisit } from '../../egress/browser/browser-visit.ts';
import type { Exit } from '../../egress/web.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { Identity } from '../http/identity.ts';
import { robotsVisitor } from '../http/robots-visitor.ts';
import type { CompiledSigns } from '../page/signs.ts';
import { fail, ScrapeFailure } from '../scrape-failure.ts';
import type { ProducedArtifact, ScrapeContext, ScrapeLog, ScrapeTools } from '../scraper.ts';
import type { Companion, Finished } from '../visit-site.ts';
import { BrowserIdentity } from './browser-identity.ts';
import { BrowserVisit, type StorageState, screenshotArtifact } from './browser-visit.ts';
import type { CookieBridge } from './cookie-bridge.ts';
import { Tab } from './tab.ts';
import type { TabDeps } from './tab-deps.ts';

/** A browser scraper's rules for pages. */
export interface BrowserRules {
  readonly signs: CompiledSigns;
  readonly limits: { readonly pageBytes: number; readonly documentBytes: number; readonly visitBytes: number };
  readonly allowsHost: (host: string) => boolean;
}

/** The part of the browser that `scrape` and `setup` get. */
export interface OpenedTab {
  /** Playwright's own page, in its own context. */
  readonly page: Page;
  /** What the kit adds to it: navigation under the rules, judging and reading pages, downloads, waits. */
  readonly tab: Tab;
}

export interface BrowserWish {
  readonly rules: BrowserRules;
  readonly tools: ScrapeTools;
  readonly log: ScrapeLog;
  readonly context: Pick<ScrapeContext, 'policy' | 'usage' | 'proxyType' | 'now' | 'draft' | 'waitUncounted'>;
  readonly exits: () => Exit;
  readonly http: HttpClient;
  readonly identity: Identity;
  /** Shares cookies with the web of the HTTP client; null if that has none. */
  readonly bridge: CookieBridge | null;
  readonly suspect: string;
  /** Null for a context that no item continues with, such as that of a login. */
  readonly job: string | null;
  readonly storage: StorageState | null;
  readonly signal: AbortSignal;
  sleep(ms: number): Promise<void>;
}

/** The browser of one visit. */
export interface BrowserCompanion extends Companion<OpenedTab> {
  readonly visit: BrowserVisit;
}

export async function openCompanion(wish: BrowserWish): Promise<BrowserCompanion> {
  const { tools, log, context, suspect, job, storage } = wish;
  if (tools.browser === null) return fail('proxy_config', NO_BROWSER);
  const visit = await BrowserVisit.open({
    ...{ browser: tools.browser, suspect, job, policy: context.policy, storage, log },
    visit: egressVisit(wish),
    waitUncounted: (wait) => context.waitUncounted(wait),
  });
  return companionOn(visit, wish);
}

/** The same in a context that is already open, from an earlier item of the same batch. */
export async function continueIn(visit: BrowserVisit, wish: BrowserWish): Promise<BrowserCompanion> {
  await visit.next(egressVisit(wish));
  return companionOn(visit, wish);
}

async function companionOn(visit: BrowserVisit, wish: BrowserWish): Promise<BrowserCompanion> {
  const { tools, log, context, http, identity, bridge, rules } = wish;
  const { policy } = context;
  bridge?.attach(visit.context);
  const deps: TabDeps = {
    ...{ tools, log, http, policy, ...rules },
    ...{ watch: visit.watch, way: visit.way, deadline: visit.deadline },
    isGone: () => visit.isGone,
    isHealthy: () => visit.isHealthy(),
    draft: () => context.draft(),
    now: () => context.now(),
    sleep: (ms) => wish.sleep(ms),
  };
  const tab = new Tab(visit.page, deps, visit.line);
  try {
    if (identity instanceof BrowserIdentity) identity.adopt(await visit.untilOver(() => visit.name()));
  } catch (thrown) {
    const error = await tab.explain(thrown);
    const poison = await visit.close(false);
    throw poison === null ? error : new ScrapeFailure(poison);
  }
  return {
    visit,
    given: { page: visit.page, tab },
    get lastPage() {
      return tab.lastPage;
    },
    get isUnauthorized() {
      return tab.isUnauthorized;
    },
    get hasGoodAnswer() {
      return tab.hasGoodAnswer;
    },
    run: (work) =>
      visit.untilOver(async () => {
        const answer = await work();
        tab.checkPlace();
        return answer;
      }),
    explain: (error) => tab.explain(error),
    finish: (end, returned) => finish(visit, policy, end, { returned, draft: () => context.draft() }),
    close: (isGood) => visit.close(isGood),
  };
}

const NO_BROWSER =
  'this worker has no browser: browser scrapers need a worker of the lane browser (trawl worker --lane browser)';

function egressVisit({ context, exits, tools, rules, identity, job, signal }: BrowserWish): EgressVisit {
  const { policy } = context;
  const { timeouts } = policy;
  const answerMs = timeouts.request_timeout_seconds * 1000;
  const deadlines = { connectMs: timeouts.connect_timeout_seconds * 1000, firstByteMs: answerMs, silenceMs: answerMs };
  const usage = context.usage.through(context.proxyType);
  const visitor = () => robotsVisitor({ identity, exits, usage }, { ...deadlines, totalMs: answerMs });
  return {
    ...{ usage, deadlines, job, signal, gate: tools.gate, patienceMs: answerMs },
    exit: exits(),
    maxBytes: rules.limits.visitBytes,
    checkHost: (host) => {
      if (!rules.allowsHost(host)) fail('refused_address', `${host} is not one of the scraper's hosts`);
    },
    ...(policy.robots === 'respect' && { checkUrl: (url: string) => tools.robots.check(url, visitor(), signal) }),
  };
}

async function finish(
  visit: BrowserVisit,
  { results, browser }: Policy,
  end: 'scraped' | 'failed',
  { returned, draft }: { readonly returned: unknown; readonly draft: Parameters<BrowserVisit['trace']>[0] },
): Promise<Finished> {
  const isWanted = (when: 'never' | 'on_failure' | 'always') =>
    when === 'always' || (when === 'on_failure' && end === 'failed');
  const artifacts: ProducedArtifact[] = [];
  const own = ownScreenshot(returned);
  const picture = own ?? (isWanted(results.screenshot) ? await visit.screenshot() : null);
  if (picture !== null) artifacts.push(picture);
  const sight = end === 'failed' && results.keep_failures > 0 ? await visit.lastSight() : null;
  const trace = isWanted(browser.trace) ? await visit.trace(draft) : null;
  if (trace !== null) artifacts.push(trace);
  return {
    artifacts,
    facts: { navigations: visit.watch.navigations },
    evidence: sight === null ? null : { url: sight.url, page: { kind: 'failed_page', bytes: Buffer.from(sight.html) } },
  };
}

function ownScreenshot(returned: unknown): ProducedArtifact | null {
  const bytes =
    typeof returned === 'object' && returned !== null && 'screenshot' in returned ? returned.screenshot : null;
  return bytes instanceof Uint8Array ? screenshotArtifact(bytes) : null;
}
