import { mkdtemp, open as openFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { type Failure, failure } from '../../domain/failure.ts';
import type { Policy } from '../../domain/policy.ts';
import type { BrowserVisit as Visit } from '../../egress/browser/browser-visit.ts';
import { type BrowserSession, BrowserUnavailable, type ContextLease } from '../../ports/browser-provider.ts';
import type { Draft } from '../../ports/result-store.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import type { ProducedArtifact, ScrapeContext, ScrapeLog } from '../scraper.ts';
import type { BrowserName } from './browser-identity.ts';
import type { BrowserTools } from './browser-tools.ts';
import { contextOptions } from './context-options.ts';
import { ContextWatch } from './context-watch.ts';
import type { ContextWay, PageLine } from './context-way.ts';
import { Deadline } from './deadline.ts';
import type { ContextKey, KeptContext } from './kept-contexts.ts';
import { type Entered, MOST_DEATHS } from './suspects.ts';

/** Cookies and storage, as Playwright writes them down. */
export type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>;

export interface VisitWish {
  readonly browser: BrowserTools;
  /** The item that may be to blame if the browser ends. */
  readonly suspect: string;
  /** The job whose items may continue with the context, if the policy says so; null for a context that is used once. */
  readonly job: string | null;
  readonly visit: Visit;
  readonly policy: Policy;
  readonly storage: StorageState | null;
  readonly log: ScrapeLog;
  /** Waits for other items, at no cost to this one's time. */
  readonly waitUncounted: ScrapeContext['waitUncounted'];
}

/** Limit for opening a context or a page, or writing down its state: a working browser takes a fraction of a second. */
const OPEN_MS = 30_000;
const LOOK_MS = 3000;
const EMPTY_MS = 3000;
const HEALTH_MS = 2000;

/** One try of an item in a browser, from opening its context to closing it. */
export class BrowserVisit {
  readonly page: Page;
  readonly line: PageLine;
  readonly watch: ContextWatch;
  readonly way: ContextWay;
  readonly deadline: Deadline;
  readonly #lease: ContextLease;
  readonly #entered: Entered;
  #wish: VisitWish;
  readonly #popups: (page: Page) => void;
  readonly #uses: number;
  #isTraced = false;

  private constructor(
    wish: VisitWish,
    parts: {
      page: Page;
      line: PageLine;
      watch: ContextWatch;
      way: ContextWay;
      lease: ContextLease;
      entered: Entered;
      deadline: Deadline;
      popups: (page: Page) => void;
      uses: number;
    },
  ) {
    this.#wish = wish;
    this.page = parts.page;
    this.line = parts.line;
    this.watch = parts.watch;
    this.way = parts.way;
    this.deadline = parts.deadline;
    this.#lease = parts.lease;
    this.#entered = parts.entered;
    this.#popups = parts.popups;
    this.#uses = parts.uses;
  }

  static async open(wish: VisitWish): Promise<BrowserVisit> {
    const { browser, suspect, visit, policy, log } = wish;
    const { signal } = visit;
    const entered = await wish.waitUncounted(() => browser.suspects.enter(suspect, signal));
    let way: ContextWay | null = null;
    let lease: ContextLease | null = null;
    try {
      const key = keyFor(wish);
      const kept = key === null ? null : await browser.kept.take(key);
      if (kept !== null) ({ way, lease } = kept);
      way ??= await browser.ways.open(visit, policy, await contextOptions(policy));
      const storage = wish.storage === null ? {} : { storageState: wish.storage };
      lease ??= await browser.contexts.open({ ...way.options, ...storage }, signal);
      const deadline = new Deadline(browser.clock);
      const watch = new ContextWatch(lease.context, log);
      const { page, line } = await deadline.within(OPEN_MS, openPage(lease, way, wish, kept), 'opening a page');
      const popups = watchPopups(lease.context, page, way, log);
      const uses = (kept?.uses ?? 0) + 1;
      const opened = new BrowserVisit(wish, { page, line, watch, way, lease, entered, deadline, popups, uses });
      if (policy.browser.trace !== 'never') await opened.#startTrace();
      return opened;
    } catch (error) {
      // A lease whose page could not be opened belongs to a browser that has ended or hangs.
      const { deaths, wasShared } = entered.leave(lease !== null);
      await lease?.release('spoilt');
      await way?.close();
      if (lease !== null && !signal.aborted && wasShared) throw new ScrapeFailure(SHARED_END);
      throw openingFailure(error, deaths, lease !== null && !signal.aborted);
    }
  }

  /** Everything from now on belongs to another item, which continues in the same context and page. */
  async next(visit: Visit): Promise<void> {
    this.#wish = { ...this.#wish, visit };
    await this.way.next(visit);
  }

  get context(): BrowserContext {
    return this.#lease.context;
  }

  /** Whether the browser has ended. */
  get isGone(): boolean {
    return this.gone.aborted;
  }

  /** Aborts when the browser ends. */
  get gone(): AbortSignal {
    return this.#lease.session.gone;
  }

  async isHealthy(): Promise<boolean> {
    return !this.isGone && (await this.#lease.session.isHealthy(HEALTH_MS));
  }

  /**
   * What the work answers. Rejects at once when the browser ends, the try is over, or more has come than may, whatever the
   * work still waits for.
   */
  async untilOver<T>(work: () => Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const { gone } = this.#lease.session;
    const { exceeded } = this.way;
    const { signal } = this.#wish.visit;
    const end = () => {
      if (gone.aborted) reject(new Error('Target page, context or browser has been closed'));
      else reject(exceeded.aborted ? (this.way.refusal() ?? exceeded.reason) : signal.reason);
    };
    const ends = [gone, signal, exceeded];
    if (ends.some(({ aborted }) => aborted)) end();
    for (const each of ends) each.addEventListener('abort', end, { once: true });
    try {
      return await Promise.race([work(), promise]);
    } finally {
      promise.catch(() => {});
      for (const each of ends) each.removeEventListener('abort', end);
    }
  }

  /** What the browser says about itself. */
  async name(): Promise<BrowserName> {
    const names = NAMES.get(this.#lease.session) ?? new Map<string, BrowserName>();
    NAMES.set(this.#lease.session, names);
    const { device, locale, stealth } = this.#wish.policy.browser;
    const { proxy: _, ...options } = this.way.options;
    const key = JSON.stringify([device, locale, stealth, options]);
    const known = names.get(key);
    if (known !== undefined) return known;
    const asked = this.page.evaluate<BrowserName>('({ userAgent: navigator.userAgent, locale: navigator.language })');
    const name = await this.deadline.within(LOOK_MS, asked, 'asking the browser for its name');
    if (names.size < MAX_NAMES) names.set(key, name);
    return name;
  }

  async storage(): Promise<StorageState> {
    return this.deadline.within(LOOK_MS, this.context.storageState(), 'reading cookies and storage');
  }

  /** What the page shows, in whatever state it is; null if it cannot be read. */
  async lastSight(): Promise<{ readonly url: string; readonly html: string } | null> {
    if (this.isGone || !this.watch.isAnswering(this.page)) return null;
    const html = await this.deadline.within(LOOK_MS, this.page.content(), 'reading the page').catch(() => null);
    const url = this.page.url();
    return html === null || url === 'about:blank' ? null : { url, html };
  }

  async screenshot(): Promise<ProducedArtifact | null> {
    if (this.isGone || !this.watch.isAnswering(this.page)) return null;
    const taken = this.page.screenshot({ type: 'png', timeout: LOOK_MS, animations: 'disabled' });
    const bytes = await this.deadline.within(LOOK_MS, taken, 'a screenshot').catch(() => null);
    return bytes === null ? null : screenshotArtifact(bytes);
  }

  /** What the browser did, for Playwright's viewer. It goes through a file, because Playwright writes it to one. */
  async trace(draft: () => Draft): Promise<ProducedArtifact | null> {
    if (!this.#isTraced || this.isGone) return null;
    const folder = await mkdtemp(join(tmpdir(), 'trawl-trace-'));
    try {
      const path = join(folder, 'trace.zip');
      await this.deadline.within(OPEN_MS, this.context.tracing.stop({ path }), 'writing the trace');
      this.#isTraced = false;
      const kept = draft();
      const file = await openFile(path);
      for await (const chunk of file.createReadStream()) await kept.write(chunk as Uint8Array);
      return { kind: 'trace', bytes: kept };
    } catch (error) {
      this.#wish.log.warn({ problem: String(error) }, 'the trace could not be kept');
      return null;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Gives everything back. Returns the failure to record instead of any other, if the browser has ended. */
  async close(isGood: boolean): Promise<Failure | null> {
    const { isGone } = this;
    const isHanging = !isGone && !isGood && !(await this.isHealthy());
    const { deaths, wasShared } = this.#entered.leave(isGone || isHanging);
    if (isGood && !isGone && (await this.#keep())) return null;
    await this.#lease.release(isGone || isHanging ? 'spoilt' : isGood ? 'done' : 'failed');
    await this.way.close();
    // It says nothing about this item, like a failing proxy.
    if (isGone && wasShared) return SHARED_END;
    return poisonAfter(deaths);
  }

  /** Leaves the context to the next item, without its pages. Returns whether that was possible. */
  async #keep(): Promise<boolean> {
    const key = keyFor(this.#wish);
    if (key === null) return false;
    this.watch.end();
    this.context.off('page', this.#popups);
    try {
      if (this.#isTraced) await this.deadline.within(OPEN_MS, this.context.tracing.stop(), 'ending the trace');
      const closed = Promise.all(this.context.pages().map((page) => page.close()));
      await this.deadline.within(EMPTY_MS, closed, 'closing the pages');
      // Closes its connections: all their traffic is counted for this item.
      await this.way.next(this.#wish.visit);
    } catch {
      return false;
    }
    await this.#wish.browser.kept.keep(key, { lease: this.#lease, way: this.way, uses: this.#uses });
    return true;
  }

  async #startTrace(): Promise<void> {
    await this.deadline.within(OPEN_MS, this.context.tracing.start({ screenshots: true, snapshots: true }), 'tracing');
    this.#isTraced = true;
  }
}

/** What each browser said, by the options of the context: it is asked once, not for each item. */
const NAMES = new WeakMap<BrowserSession, Map<string, BrowserName>>();
const MAX_NAMES = 100;

function keyFor({ job, policy, storage }: VisitWish): ContextKey | null {
  return job === null || policy.browser.isolation === 'context' ? null : { job, browser: policy.browser, storage };
}

async function openPage(
  { context, session }: ContextLease,
  way: ContextWay,
  { visit, policy: { timeouts } }: VisitWish,
  kept: KeptContext | null,
): Promise<{ readonly page: Page; readonly line: PageLine }> {
  if (kept === null) await way.prepare(context);
  else await way.next(visit);
  const timeout = timeouts.request_timeout_seconds * 1000;
  context.setDefaultTimeout(timeout);
  context.setDefaultNavigationTimeout(timeout);
  // A remote browser comes with one.
  const [first] = session.contexts === 'shared' ? context.pages() : [];
  const page = first ?? (await context.newPage());
  return { page, line: await way.guard(page, false) };
}

function watchPopups(context: BrowserContext, own: Page, way: ContextWay, log: ScrapeLog): (page: Page) => void {
  const watch = (page: Page) => {
    if (page === own) return;
    way.guard(page, true).catch((error: unknown) => {
      if (page.isClosed()) return;
      log.warn({ problem: String(error) }, 'a page could not be guarded, and was closed');
      page.close().catch(() => {});
    });
  };
  context.on('page', watch);
  return watch;
}

export function screenshotArtifact(bytes: Uint8Array): ProducedArtifact {
  return { kind: 'screenshot', bytes, contentType: 'image/png', extension: 'png' };
}

const SHARED_END = failure('proxy_error', 'the browser ended while several items were in it');

function openingFailure(error: unknown, deaths: number, isLost: boolean): unknown {
  const poison = poisonAfter(deaths);
  if (poison !== null) return new ScrapeFailure(poison);
  if (isLost) return new ScrapeFailure(failure('unexpected', 'the browser could not open a page', { cause: error }));
  if (!(error instanceof BrowserUnavailable)) return error;
  const { reason, message, retryAfterMs } = error;
  if (reason === 'misconfigured') return new ScrapeFailure(failure('proxy_config', `no browser: ${message}`));
  // Like a proxy, a browser service is neither the site nor us.
  if (reason === 'busy') return new ScrapeFailure(failure('proxy_error', `no browser: ${message}`, { retryAfterMs }));
  return new ScrapeFailure(failure('unexpected', `no browser: ${message}`, { cause: error.cause }));
}

function poisonAfter(deaths: number): Failure | null {
  return deaths < MOST_DEATHS
    ? null
    : failure('poison', `the browser ended ${deaths} times while processing this item`);
}
