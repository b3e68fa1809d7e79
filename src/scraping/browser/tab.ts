import type { Download, Page, Response } from 'playwright-core';
import { type Bad, type Good, Repeater } from '../http/repeater.ts';
import type { DocumentOptions, OptionalDocument, WebDocument } from '../http/web-document.ts';
import { classify } from '../page/classify.ts';
import { pageFingerprint } from '../page/page-fingerprint.ts';
import { type Signs, withSigns } from '../page/signs.ts';
import { fail, ScrapeFailure } from '../scrape-failure.ts';
import type { DialogAnswer, NextAnswer } from './context-watch.ts';
import type { PageLine } from './context-way.ts';
import { keepDownload } from './download.ts';
import { explainError } from './explain-error.ts';
import { PageProbe } from './page-probe.ts';
import { RenderedPage } from './rendered-page.ts';
import type { DownloadWish, TabDeps } from './tab-deps.ts';
import { type Awaited, type WaitOptions, waitForAny } from './waits.ts';

/** How a page is judged. The names are those of the HTTP client, and so are the failures. */
export interface ReadOptions {
  /** Statuses other than 200 to 299 that are normal here. */
  readonly expectStatus?: readonly number[];
  /**
   * A selector for what the page must contain; it is waited for. A page that has it is never taken for maintenance or a
   * block on a guess; one that does not get it in time ends the try, with what the page says instead.
   */
  readonly expectElement?: string;
  /** Replaces the scraper's own signs, kind by kind: `{ maintenance: [] }` takes no text here for maintenance. */
  readonly signs?: Signs;
  readonly timeoutSeconds?: number;
}

export interface GotoOptions extends ReadOptions {
  /** What has happened when a page counts as loaded. */
  readonly waitUntil?: 'commit' | 'domcontentloaded' | 'load' | 'networkidle';
}

/** What the kit adds to a page of Playwright: the rules, the judgement and the readers that HTTP scrapers have. */
export class Tab {
  /** Playwright's own. */
  readonly page: Page;
  readonly #deps: TabDeps;
  readonly #repeater: Repeater;
  readonly #probe: PageProbe;
  #last: RenderedPage | null = null;
  #answer: { readonly document: number; readonly response: Response } | null = null;

  /** `line` is one that is open already; null to open one when it is needed. */
  constructor(page: Page, deps: TabDeps, line: PageLine | null = null) {
    this.page = page;
    this.#deps = deps;
    this.#probe = new PageProbe(page, line);
    const { tools, log, policy, sleep } = deps;
    const isAdaptive = policy.throttling.adaptive;
    this.#repeater = new Repeater({
      tools: { ...tools, log },
      maxRetries: policy.retries.max_retries,
      isAdaptive,
      sleep,
    });
  }

  /** The last result of `goto` or `read`; null before the first. */
  get lastPage(): RenderedPage | null {
    return this.#last;
  }

  /** Whether the last failed page had the status 401. */
  get isUnauthorized(): boolean {
    return this.#repeater.isUnauthorized;
  }

  /** Whether any page arrived that was not a failure. */
  get hasGoodAnswer(): boolean {
    return this.#repeater.hasGoodAnswer;
  }

  /** Opens an address, which may be relative to the open page. */
  async goto(url: string, options: GotoOptions = {}): Promise<RenderedPage> {
    const target = this.#resolve(url);
    this.#checkHost(target);
    const { waitUntil = 'domcontentloaded' } = options;
    const timeout = this.#timeoutMs(options);
    return this.#repeater.untilGood({ method: 'GET', host: target.host }, async () => {
      try {
        const response = await this.page.goto(target.href, { waitUntil, timeout });
        const document = this.#deps.watch.documentNumber(this.page);
        this.#answer = response === null ? null : { document, response };
      } catch (error) {
        const what = await this.explain(error);
        if (!(what instanceof ScrapeFailure)) throw what;
        return { kind: 'bad', error: what, url: target.href, status: null, isLost: false };
      }
      return this.#judged(options);
    });
  }

  /**
   * What the page shows now. It is judged first, so that a block page is never read as if it were the requested page.
   */
  async read(options: ReadOptions = {}): Promise<RenderedPage> {
    const end = await this.#judged(options);
    if (end.kind === 'good') return end.value;
    throw end.error;
  }

  /** What a frame of the page shows now, by the selector of its element. */
  async readFrame(selector: string): Promise<RenderedPage> {
    const timeout = this.#timeoutMs({});
    return this.#safely(async () => {
      const element = await this.page.waitForSelector(selector, { state: 'attached', timeout });
      const frame = await element.contentFrame();
      if (frame === null) return fail('structure_changed', `${selector} is not a frame (${this.page.url()})`);
      await frame.waitForLoadState('domcontentloaded', { timeout });
      const body = await this.#deps.deadline.within(timeout, frame.content(), 'reading a frame');
      return this.#rendered(frame.url(), body, null, {});
    });
  }

  /** The page as HTML, unjudged. */
  async html(): Promise<string> {
    return this.#htmlWith(null, 0);
  }

  async #htmlWith(selector: string | null, waitMs: number): Promise<string> {
    const timeout = this.#timeoutMs({}) + waitMs;
    return this.#safely(async () => {
      try {
        const read = selector === null ? this.#probe.html() : this.#probe.htmlWith(selector, waitMs);
        return await this.#deps.deadline.within(timeout, read, 'reading the page');
      } catch (error) {
        if (error instanceof ScrapeFailure) this.#deps.watch.noteHanging(this.page);
        throw error;
      }
    });
  }

  /**
   * Waits until one of these applies, and returns which: `await tab.waitFor({ element: '#results' }, { text: 'No
   * records' })` is 0 or 1. If none does in time, the try ends with what the page says instead.
   */
  async waitFor(...wanted: [...(Awaited | WaitOptions)[]]): Promise<number> {
    const timeout = this.#timeoutMs(wanted.find(isWaitOptions) ?? {});
    const list = wanted.filter((each): each is Awaited => !isWaitOptions(each));
    return this.#safely(() => waitForAny(this.page, list, timeout));
  }

  /** Keeps a document: PDF, spreadsheet, picture. It is stored only if the scraper returns it. */
  async download(wish: DownloadWish, options: DocumentOptions & OptionalDocument): Promise<WebDocument | null>;
  async download(wish: DownloadWish, options?: DocumentOptions): Promise<WebDocument>;
  async download(
    wish: DownloadWish,
    options: DocumentOptions & Partial<OptionalDocument> = {},
  ): Promise<WebDocument | null> {
    const timeout = this.#timeoutMs({});
    return this.#safely(() => keepDownload(this.page, this.#deps, wish, options, timeout));
  }

  /** A screenshot of the visible part, as PNG. */
  async screenshot(options: { readonly fullPage?: boolean } = {}): Promise<Uint8Array> {
    const { fullPage = false } = options;
    const timeout = this.#timeoutMs({});
    return this.#safely(() => this.page.screenshot({ type: 'png', fullPage, timeout, animations: 'disabled' }));
  }

  /** The page that `action` opens, such as a click on a link with its own window. */
  async popup(action: () => Promise<unknown>): Promise<Tab> {
    const timeout = this.#timeoutMs({});
    return this.#safely(async () => {
      const [page] = await Promise.all([this.page.waitForEvent('popup', { timeout }), action()]);
      await page.waitForLoadState('domcontentloaded', { timeout });
      return new Tab(page, this.#deps);
    });
  }

  /** The same for another page of the context, such as one that was opened by a step before. */
  forPage(page: Page): Tab {
    return page === this.page ? this : new Tab(page, this.#deps);
  }

  /** Counts the documents that the page has had: another number is another document. */
  get documentNumber(): number {
    return this.#deps.watch.documentNumber(this.page);
  }

  /** Called for each download of the context that begins from here on. */
  onDownload(listener: (download: Download) => void): () => void {
    return this.#deps.watch.onDownload(listener);
  }

  /** How dialogs (alert, confirm, prompt) are answered from here on. They are accepted by default. */
  answerDialogs(answer: DialogAnswer): void {
    this.#deps.watch.answerDialogs(answer);
  }

  /** The same for the next dialog alone; called twice, for the two that come next. */
  answerNextDialog(answer: NextAnswer): void {
    this.#deps.watch.answerNextDialog(answer);
  }

  /** Fails if the site has led the page to a host that is not the scraper's. */
  checkPlace(): void {
    const url = URL.parse(this.page.url());
    if (url !== null && /^https?:$/.test(url.protocol)) this.#checkHost(url);
  }

  /** The failure behind an error of Playwright, explained by the page; the error itself if it is not one. */
  async explain(error: unknown): Promise<unknown> {
    return explainError(error, this.page, this.#deps);
  }

  async #safely<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw await this.explain(error);
    }
  }

  /** Judges what the page shows, after waiting for expected content that may still appear. */
  async #judged(options: ReadOptions): Promise<Good<RenderedPage> | Bad> {
    const { expectElement } = options;
    let { page, bad } = await this.#look(options, FIRST_LOOK_MS);
    const mayStillCome = bad === null || bad.error.type === 'blocked' || bad.error.type === 'maintenance';
    if (expectElement !== undefined && mayStillCome && !page.has(expectElement)) {
      // The browser solves some challenges itself, and most pages are not complete when they are loaded.
      const timeout = Math.min(this.#timeoutMs(options), bad === null ? Number.POSITIVE_INFINITY : CHALLENGE_MS);
      ({ page, bad } = await this.#look(options, timeout));
    }
    if (bad !== null) return bad;
    this.#last = page;
    if (expectElement === undefined || page.has(expectElement)) return { kind: 'good', value: page };
    const { url, status } = page;
    return { kind: 'bad', error: page.missing(expectElement), url, status, isLost: false };
  }

  /** Reads the page as soon as what is expected of it is there, or after this time, and judges it. */
  async #look(options: ReadOptions, waitMs: number): Promise<{ page: RenderedPage; bad: Bad | null }> {
    this.checkPlace();
    const body = await this.#htmlWith(options.expectElement ?? null, waitMs);
    const { status, headers } = await this.#documentAnswer();
    if (body.length > this.#deps.limits.pageBytes) {
      fail('too_large', `the page has more than ${this.#deps.limits.pageBytes} bytes (${this.page.url()})`);
    }
    const url = this.page.url();
    const page = this.#rendered(url, body, status, options);
    const { policy, now } = this.#deps;
    const { expectStatus = [], expectElement } = options;
    const found = classify(
      { url, status, headers, source: () => body, title: null },
      {
        ...{ signs: withSigns(this.#deps.signs, options.signs), expectStatus, now: now() },
        hasExpected: () => expectElement !== undefined && page.has(expectElement),
        maxRetryAfterMs: policy.retries.max_retry_after_seconds * 1000,
      },
    );
    if (found === null) return { page, bad: null };
    const error = new ScrapeFailure({ ...found, page: pageFingerprint(body) });
    return { page, bad: { kind: 'bad', error, url, status, isLost: false } };
  }

  #rendered(url: string, body: string, status: number | null, options: ReadOptions): RenderedPage {
    const signs = withSigns(this.#deps.signs, options.signs);
    return new RenderedPage({ url, body, status, fetchedAt: this.#deps.now(), arrival: { kind: 'as-asked' }, signs });
  }

  /** The answer of the open document: known from `goto`; after a click, the page itself is asked. */
  async #documentAnswer(): Promise<{ status: number | null; headers: Readonly<Record<string, string>> }> {
    const { watch, deadline } = this.#deps;
    if (this.#answer?.document === watch.documentNumber(this.page)) {
      const { response } = this.#answer;
      return { status: response.status(), headers: response.headers() };
    }
    const asked = this.page.evaluate(READ_STATUS).catch(() => null);
    const status = await deadline.within(STATUS_MS, asked, 'asking for the status').catch(() => null);
    return { status: typeof status === 'number' && status > 0 ? status : null, headers: {} };
  }

  #resolve(url: string): URL {
    const here = this.page.url();
    const resolved = URL.parse(url, here === 'about:blank' ? undefined : here);
    if (resolved !== null && /^https?:$/.test(resolved.protocol)) return resolved;
    return fail('unexpected', `"${url.slice(0, 200)}" is not an address that a page can be opened at`);
  }

  #checkHost({ host }: URL): void {
    if (!this.#deps.allowsHost(host)) fail('refused_address', `${host} is not one of the scraper's hosts`);
  }

  #timeoutMs({ timeoutSeconds }: { readonly timeoutSeconds?: number }): number {
    return (timeoutSeconds ?? this.#deps.policy.timeouts.request_timeout_seconds) * 1000;
  }
}

function isWaitOptions(value: Awaited | WaitOptions): value is WaitOptions {
  return 'timeoutSeconds' in value;
}

/** As long as a visitor would look at a page that says "just a moment". */
const CHALLENGE_MS = 10_000;

/**
 * Most pages have what is expected of them by then, and are read once. What shows a block or maintenance instead is found out
 * so much later.
 */
const FIRST_LOOK_MS = 300;

const STATUS_MS = 2000;

/** Run in the page. */
const READ_STATUS = `performance.getEntriesByType('navigation')[0]?.responseStatus ?? null`;
