import type { Page } from 'playwright-core';
import type { RenderedPage } from '../../browser/rendered-page.ts';
import type { Tab } from '../../browser/tab.ts';
import { StoredPage } from '../../extract/stored-page.ts';
import { ScrapeFailure } from '../../scrape-failure.ts';
import type { Wanted } from '../wanted.ts';
import { frameAt } from './locate.ts';

const MAX_READS = 5;
const BETWEEN_READS_MS = 100;
const FRAME_MS = 1000;

/** What a tab shows, written out as HTML, and kept until something is done to the page. */
export class TabView {
  readonly #sleep: (ms: number) => Promise<void>;
  #last: { readonly tab: Tab; readonly page: RenderedPage; readonly document: number } | null = null;
  /** The document whose HTML has come. */
  #loaded: { readonly tab: Tab; readonly document: number } | null = null;

  constructor(sleep: (ms: number) => Promise<void>) {
    this.#sleep = sleep;
  }

  forget(): void {
    this.#last = null;
  }

  keep(tab: Tab, page: RenderedPage): void {
    this.#last = { tab, page, document: tab.documentNumber };
  }

  async page(tab: Tab, view: 'fresh' | 'last'): Promise<RenderedPage> {
    const last = this.#last;
    if (view === 'last' && last !== null && last.tab === tab && last.document === tab.documentNumber) return last.page;
    const page = await this.read(tab);
    this.keep(tab, page);
    return page;
  }

  /** What the page shows now, judged, once its HTML has come. A page that goes elsewhere meanwhile is read again. */
  read(tab: Tab): Promise<RenderedPage> {
    return this.#retried(async (isLast) => {
      const document = tab.documentNumber;
      if (this.#loaded?.tab !== tab || this.#loaded.document !== document) {
        await untilLoaded(tab);
        this.#loaded = { tab, document };
      }
      const page = await tab.read();
      return tab.documentNumber === document || isLast ? page : null;
    });
  }

  /** What a frame shows now. One that goes elsewhere meanwhile is read again. */
  readFrame(read: () => Promise<StoredPage>): Promise<StoredPage> {
    return this.#retried(read);
  }

  /** Null from `read` stands for a page that was left before it had been read. */
  async #retried<T>(read: (isLast: boolean) => Promise<T | null>): Promise<T> {
    for (let reads = 1; ; reads += 1) {
      const isLast = reads >= MAX_READS;
      try {
        const found = await read(isLast);
        if (found !== null) return found;
      } catch (error) {
        if (!(error instanceof ScrapeFailure) || !isElsewhere(error) || isLast) throw error;
        await this.#sleep(BETWEEN_READS_MS);
      }
    }
  }
}

/** Half a table must not be read as a whole one. */
async function untilLoaded(tab: Tab): Promise<void> {
  try {
    await tab.page.waitForLoadState('domcontentloaded');
  } catch (error) {
    throw await tab.explain(error);
  }
}

export async function readFrame(page: Page, path: Wanted['frame']): Promise<StoredPage> {
  const frame = await frameAt(page, path);
  await frame.waitForLoadState('domcontentloaded', { timeout: FRAME_MS });
  return new StoredPage(await frame.content(), frame.url());
}

export function isElsewhere({ failure }: ScrapeFailure): boolean {
  return failure.type === 'navigation_failed' && failure.message.startsWith('the page went elsewhere');
}
