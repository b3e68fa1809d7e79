import type { Page } from 'playwright-core';
import type { PageLine } from './context-way.ts';

/**
 * Reads a page by CDP, in an isolated world that scripts of the page do not see. Playwright's calls do the same, but first
 * run its own library in every document: for a page with one wait and one read that took 43 ms of 190 ms of processor time.
 * If this does not work, for instance while the page navigates, Playwright is used.
 */
export class PageProbe {
  readonly #page: Page;
  #line: PageLine | null;

  constructor(page: Page, line: PageLine | null) {
    this.#page = page;
    this.#line = line;
  }

  /** The page as HTML, as Playwright's `content` writes it. */
  async html(): Promise<string> {
    const html = await this.#evaluate(`(${readInPage})()`).catch(() => null);
    return typeof html === 'string' ? html : this.#page.content();
  }

  /** The same, as soon as an element is in it, or after this time if none is. */
  async htmlWith(selector: string, waitMs: number): Promise<string> {
    const script = `(${waitInPage})(${JSON.stringify(selector)}, ${waitMs}).then(${readInPage})`;
    const html = await this.#evaluate(script).catch(() => null);
    if (typeof html === 'string') return html;
    await this.#page.waitForSelector(selector, { state: 'attached', timeout: waitMs }).catch(() => null);
    return this.#page.content();
  }

  /** Undefined if the script threw. */
  async #evaluate(expression: string): Promise<unknown> {
    this.#line ??= await openLine(this.#page);
    const { session, mainFrame } = this.#line;
    const world = await session.send('Page.createIsolatedWorld', {
      frameId: mainFrame,
      worldName: worldOf(this.#page),
    });
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      ...{ expression, contextId: world.executionContextId, awaitPromise: true, returnByValue: true },
    });
    return exceptionDetails === undefined ? result.value : undefined;
  }
}

/**
 * The name of the isolated world that Playwright has in every document: asking for it returns that world, and a new one
 * would cost more than a millisecond. If Playwright names it differently some day, the browser makes one of this name.
 */
function worldOf(page: Page): string {
  const id = '_guid' in page && typeof page._guid === 'string' ? page._guid : 'trawl';
  return `__playwright_utility_world_${id}`;
}

async function openLine(page: Page): Promise<PageLine> {
  const session = await page.context().newCDPSession(page);
  const { targetInfo } = await session.send('Target.getTargetInfo');
  return { session, mainFrame: targetInfo.targetId };
}

/** Run in the page. */
const readInPage = `() =>
  (document.doctype === null ? '' : new XMLSerializer().serializeToString(document.doctype))
    + (document.documentElement === null ? '' : document.documentElement.outerHTML)`;

/** Run in the page. */
const waitInPage = `(selector, timeout) => new Promise((resolve) => {
  const isThere = () => document.querySelector(selector) !== null;
  if (isThere()) return resolve();
  const observer = new MutationObserver(() => isThere() && end());
  const timer = setTimeout(() => end(), timeout);
  const end = () => { observer.disconnect(); clearTimeout(timer); resolve(); };
  observer.observe(document, { childList: true, subtree: true, attributes: true });
})`;
