import type { Page } from 'playwright-core';
import { passesUrl } from '../../../domain/recording/text-test.ts';
import type { Tab } from '../../browser/tab.ts';
import { StoredPage } from '../../extract/stored-page.ts';
import type { WholePage } from '../../extract/whole-page.ts';
import type { WebDocument } from '../../http/web-document.ts';
import { fail, ScrapeFailure } from '../../scrape-failure.ts';
import {
  type Absence,
  type ActionEngine,
  type DialogReply,
  type Downloaded,
  type DownloadSource,
  type Interaction,
  type LoadState,
  NeedsBrowser,
  NoMatch,
  type PageAction,
  type ResponseWish,
  type SeenResponse,
  type Sight,
  type TabChoice,
} from '../engine.ts';
import { findWanted } from '../page/find-wanted.ts';
import type { Wanted } from '../wanted.ts';
import { act, addressOf } from './act.ts';
import { type Located, locate } from './locate.ts';
import { SeenTraffic } from './seen-traffic.ts';
import { isElsewhere, readFrame, TabView } from './tab-view.ts';

export interface BrowserEngineDeps {
  readonly tab: Tab;
  readonly watchesResponses: boolean;
  now(): number;
  /** Rejects when the try is over. */
  sleep(ms: number): Promise<void>;
}

/** Between two looks for an element. */
const POLL_MS = 50;
/** An element that was found is used at once; this is for the browser to do it. */
const LEAST_MS = 1000;
const SETTLED_MS = 1000;

/**
 * Carries actions out in a browser. Elements to act on are found by Playwright. Values are read from the page written out as
 * HTML, by the same code that reads pages without a browser: one look answers for all values of a page, and they mean the
 * same. Only what HTML does not hold (shadow roots, what can be seen, what a control holds) is asked of the browser.
 */
export class BrowserEngine implements ActionEngine {
  readonly kind = 'browser';
  readonly #deps: BrowserEngineDeps;
  readonly #traffic: SeenTraffic;
  #tab: Tab;
  #tabs: Tab[];
  readonly #view: TabView;

  constructor(deps: BrowserEngineDeps) {
    this.#deps = deps;
    this.#tab = deps.tab;
    this.#tabs = [deps.tab];
    this.#view = new TabView((ms) => deps.sleep(ms));
    this.#traffic = new SeenTraffic(deps.tab, deps.watchesResponses);
  }

  /** The tab that is open now. */
  get tab(): Tab {
    return this.#tab;
  }

  end(): void {
    this.#traffic.end();
  }

  url(): string {
    return this.#page.url();
  }

  async goto(
    url: string,
    { waitUntil, timeoutMs }: { readonly waitUntil?: LoadState | undefined; readonly timeoutMs: number },
  ): Promise<void> {
    this.#begin();
    const seconds = { timeoutSeconds: timeoutMs / 1000 };
    const page = await this.#tab.goto(url, waitUntil === undefined ? seconds : { ...seconds, waitUntil });
    this.#view.keep(this.#tab, page);
  }

  async go(where: 'back' | 'forward' | 'reload', timeout: number): Promise<void> {
    this.#begin();
    const options = { timeout, waitUntil: 'domcontentloaded' } as const;
    const went = await this.#safely(async () => {
      if (where === 'reload') return [await this.#page.reload(options)];
      const before = this.#tab.documentNumber;
      const answer = where === 'back' ? await this.#page.goBack(options) : await this.#page.goForward(options);
      return answer === null && this.#tab.documentNumber === before ? null : [answer];
    });
    if (went === null) fail('navigation_failed', 'there is no such page in the history');
  }

  async newTab(): Promise<void> {
    this.#begin();
    const page = await this.#safely(() => this.#page.context().newPage());
    this.#open(page);
  }

  async switchTab(to: TabChoice, timeoutMs: number): Promise<void> {
    this.#begin();
    const found = await this.#until(timeoutMs, async () => this.#findPage(to));
    if (found === null) fail('navigation_failed', 'the tab did not open');
    this.#open(found);
    await this.#safely(() => found.waitForLoadState('domcontentloaded', { timeout: Math.max(timeoutMs, LEAST_MS) }));
  }

  async closeTab(): Promise<void> {
    this.#begin();
    const at = this.#tabs.indexOf(this.#tab);
    await this.#safely(() => this.#page.close());
    this.#tabs = this.#tabs.filter((tab) => tab !== this.#tab && !tab.page.isClosed());
    const next = this.#tabs[Math.max(0, at - 1)] ?? this.#tabs[0];
    if (next === undefined) fail('navigation_failed', 'the last tab was closed');
    this.#tab = next;
  }

  async interact(action: Interaction, wanted: Wanted, timeoutMs: number): Promise<number> {
    const endAt = this.#deps.now() + timeoutMs;
    this.#begin();
    const found = await this.#find(wanted, timeoutMs, USES_HIDDEN.has(action.type) ? 'attached' : 'visible');
    const left = () => Math.max(endAt - this.#deps.now(), LEAST_MS);
    await this.#safely(async () => {
      const target = found.all.first();
      if (action.type !== 'drag') return act(target, action, left());
      const to = await this.#find(action.to, left(), 'visible');
      return target.dragTo(to.all.first(), { timeout: left() });
    });
    return found.alternative;
  }

  async interactWithPage(action: PageAction): Promise<void> {
    this.#begin();
    await this.#safely(async () => {
      if (action.type === 'press') return this.#page.keyboard.press(action.key);
      const { to } = action;
      const script =
        typeof to === 'object'
          ? `${Number(to.x)}, ${Number(to.y)}`
          : to === 'top'
            ? '0, 0'
            : '0, document.documentElement.scrollHeight';
      await this.#page.evaluate(`window.scrollTo(${script})`);
    });
  }

  async navigateBy<T>(action: () => Promise<T>, timeoutMs: number): Promise<T> {
    const endAt = this.#deps.now() + timeoutMs;
    const tab = this.#tab;
    const before = tab.documentNumber;
    const done = await action();
    const hasCome = await this.#until(endAt - this.#deps.now(), async () =>
      tab.documentNumber === before ? null : true,
    );
    if (hasCome === null) fail('navigation_failed', `the step did not lead to another page (${this.url()})`);
    const timeout = Math.max(endAt - this.#deps.now(), LEAST_MS);
    await this.#safely(() => tab.page.waitForLoadState('domcontentloaded', { timeout }));
    this.#view.forget();
    return done;
  }

  answerDialogs(reply: DialogReply): void {
    this.#tab.answerNextDialog(reply.action === 'answer' ? { text: reply.text } : reply.action);
  }

  async look(wanted: Wanted, view: 'fresh' | 'last'): Promise<Sight> {
    if (wanted.frame.length === 0 && isInHtml(wanted)) {
      const seen = this.#seen(wanted, await this.page([], view));
      if (seen !== null) return seen;
    } else if (isInHtml(wanted)) {
      const seen = this.#seen(wanted, await this.page(wanted.frame, 'fresh'));
      if (seen !== null) return seen;
    }
    return this.#lookInBrowser(wanted);
  }

  async page(frame: Wanted['frame'], view: 'fresh' | 'last'): Promise<WholePage> {
    if (frame.length === 0) return this.#view.page(this.#tab, view);
    return this.#view.readFrame(() => this.#safely(() => readFrame(this.#page, frame)));
  }

  async isVisible(wanted: Wanted): Promise<boolean> {
    return (await this.#located(wanted, 'visible')) !== null;
  }

  async value(wanted: Wanted): Promise<string | null> {
    const found = await this.#located(wanted, 'attached');
    if (found === null) return null;
    const value = await this.#safely(() =>
      found.all
        .first()
        .evaluate((node) => (node as unknown as { value?: unknown }).value, undefined, { timeout: LEAST_MS }),
    );
    return value === undefined || value === null ? null : String(value);
  }

  async letChange(ms: number): Promise<boolean> {
    await this.#deps.sleep(ms);
    return true;
  }

  async waitForTime(ms: number): Promise<void> {
    this.#view.forget();
    await this.#deps.sleep(ms);
  }

  async waitForNetworkIdle(idleMs: number, timeout: number): Promise<void> {
    this.#view.forget();
    await this.#safely(() => this.#page.waitForLoadState('networkidle', { timeout }));
    // Playwright waits for half a second without requests.
    if (idleMs > 500) await this.#deps.sleep(idleMs - 500);
  }

  async waitForResponse(wish: ResponseWish, timeoutMs: number): Promise<SeenResponse> {
    const found = await this.#until(timeoutMs, async () => this.#traffic.response(wish));
    if (found === null) return fail('timeout', `no such answer came within ${timeoutMs / 1000} s`);
    this.#view.forget();
    return { url: found.url(), status: found.status(), text: () => this.#safely(() => found.text()) };
  }

  async waitForDownload(timeoutMs: number): Promise<void> {
    const begun = await this.#until(timeoutMs, async () => this.#traffic.download);
    if (begun === null) fail('timeout', `no download began within ${timeoutMs / 1000} s`);
  }

  async waitForExpression(expression: string, timeout: number): Promise<void> {
    this.#view.forget();
    await this.#safely(() => this.#page.waitForFunction(expression, undefined, { timeout }));
  }

  async screenshot(
    wanted: Wanted | null,
    { fullPage, timeoutMs }: { readonly fullPage: boolean; readonly timeoutMs: number },
  ): Promise<Uint8Array> {
    if (wanted === null) return this.#tab.screenshot({ fullPage });
    const { all } = await this.#find(wanted, timeoutMs, 'visible');
    return this.#safely(() =>
      all.first().screenshot({ type: 'png', timeout: Math.max(timeoutMs, LEAST_MS), animations: 'disabled' }),
    );
  }

  async pdf(): Promise<Uint8Array> {
    return this.#safely(() => this.#page.pdf());
  }

  async download(
    source: DownloadSource,
    { optional, timeoutMs }: { readonly optional: boolean; readonly timeoutMs: number },
  ): Promise<Downloaded> {
    if (source.from === 'address')
      return { document: await this.#keep({ url: source.url }, optional), alternative: null };
    if (source.from === 'earlier') {
      const begun = await this.#until(timeoutMs, async () => this.#traffic.takeDownload());
      if (begun === null) {
        return optional
          ? { document: null, alternative: null }
          : fail('timeout', `no download began within ${timeoutMs / 1000} s`);
      }
      return { document: await this.#keep({ begun }, optional), alternative: null };
    }
    const { wanted } = source;
    if (optional && (await this.#located(wanted, 'visible')) === null) return { document: null, alternative: null };
    this.#begin();
    const found = await this.#find(wanted, timeoutMs, 'visible');
    const element = found.all.first();
    const address = await this.#safely(() => addressOf(element, LEAST_MS));
    const wish =
      typeof address === 'string' ? { url: address } : { action: () => element.click({ timeout: timeoutMs }) };
    return { document: await this.#keep(wish, optional), alternative: found.alternative };
  }

  async explainAbsence(): Promise<Absence | null> {
    try {
      const page = await this.#view.read(this.#tab);
      const explained = page.explainAbsence();
      if (explained !== null && !explained.isGuess) return explained;
      const isSettled = await this.#page.waitForLoadState('networkidle', { timeout: SETTLED_MS }).then(
        () => true,
        () => false,
      );
      return isSettled ? explained : { type: 'timeout', said: 'the page is still loading', isGuess: false };
    } catch (error) {
      if (!(error instanceof ScrapeFailure)) throw error;
      return { type: error.type, said: error.message, isGuess: false };
    }
  }

  get #page(): Page {
    return this.#tab.page;
  }

  /** Something is done: what was read before may no longer be so. */
  #begin(): void {
    this.#view.forget();
    this.#traffic.mark();
  }

  #open(page: Page): void {
    this.#tab = this.#tabs.find((tab) => tab.page === page) ?? this.#tab.forPage(page);
    if (!this.#tabs.includes(this.#tab)) this.#tabs.push(this.#tab);
    this.#view.forget();
  }

  #findPage(to: TabChoice): Page | null {
    const pages = this.#page.context().pages();
    if (to === 'first') return pages[0] ?? null;
    if (to === 'latest') {
      const latest = pages.at(-1) ?? null;
      // The one that a step before has opened may not be there yet.
      return latest === this.#page && pages.length === this.#tabs.length ? null : latest;
    }
    if (typeof to === 'number') return pages[to] ?? null;
    return pages.find((page) => passesUrl(to.url, page.url())) ?? null;
  }

  /** Null if nothing matches in the HTML. */
  #seen(wanted: Wanted, page: WholePage): Sight | null {
    try {
      const sight = findWanted(page, wanted);
      return sight.alternative === null ? null : sight;
    } catch (error) {
      if (error instanceof NeedsBrowser) return null;
      throw error;
    }
  }

  async #lookInBrowser(wanted: Wanted): Promise<Sight> {
    const found = await this.#located(wanted, 'attached');
    if (found === null) return { elements: [], page: await this.page([], 'last'), alternative: null };
    const parts = await this.#safely(() =>
      found.all.evaluateAll((nodes) => nodes.map((node) => (node as unknown as { outerHTML: string }).outerHTML)),
    );
    const page = new StoredPage(parts.join('\n'), this.url());
    const body = page.document.children.length === 0 ? [] : page.$('body').children().get();
    return { elements: body, page, alternative: found.alternative };
  }

  async #find(wanted: Wanted, timeoutMs: number, state: 'attached' | 'visible'): Promise<Located> {
    const found = await this.#until(timeoutMs, () => this.#located(wanted, state));
    if (found !== null) return found;
    const isHidden = state === 'visible' && (await this.#located(wanted, 'attached')) !== null;
    throw new NoMatch(wanted, isHidden ? `${wanted.described} is there, but cannot be seen` : null);
  }

  async #located(wanted: Wanted, state: 'attached' | 'visible'): Promise<Located | null> {
    try {
      return await locate(this.#page, wanted, state);
    } catch (error) {
      if (error instanceof NoMatch) return null;
      const what = await this.#tab.explain(error);
      // The next look is at the page that comes.
      if (what instanceof ScrapeFailure && isElsewhere(what)) return null;
      throw what;
    }
  }

  async #keep(wish: Parameters<Tab['download']>[0], optional: boolean): Promise<WebDocument | null> {
    return optional ? this.#tab.download(wish, { optional }) : this.#tab.download(wish);
  }

  async #until<T>(timeoutMs: number, look: () => Promise<T | null>): Promise<T | null> {
    const endAt = this.#deps.now() + timeoutMs;
    for (;;) {
      const found = await look();
      if (found !== null) return found;
      const left = endAt - this.#deps.now();
      if (left <= 0) return null;
      await this.#deps.sleep(Math.min(POLL_MS, left));
    }
  }

  async #safely<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof NoMatch) throw error;
      throw await this.#tab.explain(error);
    }
  }
}

/** They work on elements that cannot be seen, such as a file control behind a button. */
const USES_HIDDEN: ReadonlySet<Interaction['type']> = new Set(['upload', 'scroll']);

/** Whether HTML alone tells what matches: it has no shadow roots. */
function isInHtml({ alternatives, within }: Wanted): boolean {
  return (
    alternatives.every((parts) => parts.length === 1 && parts[0]?.kind !== 'pierce') &&
    (within === null || isInHtml(within))
  );
}
