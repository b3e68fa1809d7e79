import type { BrowserContext, Dialog, Download, Page } from 'playwright-core';
import type { ScrapeLog } from '../scraper.ts';

/** A site that opens one window after another must not fill the memory. */
const MAX_PAGES = 20;
const MAX_NAVIGATIONS = 100;
const MAX_URL_LENGTH = 2000;

/** Notices what happens in the context of one try, whether or not the scraper looks for it. */
export class ContextWatch {
  readonly #context: BrowserContext;
  readonly #log: ScrapeLog;
  readonly #crashed = new WeakSet<Page>();
  readonly #hanging = new WeakSet<Page>();
  readonly #versions = new WeakMap<Page, number>();
  readonly #navigations: string[] = [];
  readonly #downloads = new Set<(download: Download) => void>();
  readonly #onPage = (page: Page) => this.#admit(page);
  readonly #onDialog = (dialog: Dialog) => this.#reply(dialog);
  readonly #onDownload = (download: Download) => {
    this.#log.debug({ url: download.url().slice(0, MAX_URL_LENGTH) }, 'a download began');
    for (const listener of [...this.#downloads]) listener(download);
  };
  #answer: DialogAnswer = 'accept';
  /** For the dialogs that come next, one each. */
  readonly #next: NextAnswer[] = [];

  constructor(context: BrowserContext, log: ScrapeLog) {
    this.#context = context;
    this.#log = log;
    for (const page of context.pages()) this.#watch(page);
    context.on('page', this.#onPage).on('dialog', this.#onDialog).on('download', this.#onDownload);
  }

  /** The try is over, and the context continues without it. */
  end(): void {
    this.#context.off('page', this.#onPage).off('dialog', this.#onDialog).off('download', this.#onDownload);
  }

  /** How dialogs are answered from here on. */
  answerDialogs(answer: DialogAnswer): void {
    this.#answer = answer;
  }

  /** How the next dialog is answered that no earlier call is about. */
  answerNextDialog(answer: NextAnswer): void {
    this.#next.push(answer);
  }

  isCrashed(page: Page): boolean {
    return this.#crashed.has(page);
  }

  /** The page has not answered in time, so it is useless to ask it for more. */
  noteHanging(page: Page): void {
    this.#hanging.add(page);
  }

  /** Whether the page may still be asked for something. */
  isAnswering(page: Page): boolean {
    return !this.#crashed.has(page) && !this.#hanging.has(page) && !page.isClosed();
  }

  /** Counts the documents that the page has had: another number means another document. */
  documentNumber(page: Page): number {
    return this.#versions.get(page) ?? 0;
  }

  /** Addresses that pages of this context went to, in order. */
  get navigations(): readonly string[] {
    return this.#navigations;
  }

  onDownload(listener: (download: Download) => void): () => void {
    this.#downloads.add(listener);
    return () => this.#downloads.delete(listener);
  }

  #admit(page: Page): void {
    this.#watch(page);
    const { length } = this.#context.pages();
    if (length <= 1) return;
    this.#log.debug({ url: page.url().slice(0, MAX_URL_LENGTH) }, 'the site opened another page');
    if (length <= MAX_PAGES) return;
    this.#log.warn({ pages: length }, 'the site opens too many pages: this one was closed');
    page.close().catch(() => {});
  }

  #watch(page: Page): void {
    page.on('crash', () => {
      this.#crashed.add(page);
      this.#log.warn({ url: page.url().slice(0, MAX_URL_LENGTH) }, 'the page crashed in the browser');
    });
    page.on('framenavigated', (frame) => {
      if (frame !== page.mainFrame()) return;
      this.#versions.set(page, this.documentNumber(page) + 1);
      const url = frame.url();
      if (url === 'about:blank' || this.#navigations.length >= MAX_NAVIGATIONS) return;
      this.#navigations.push(url.slice(0, MAX_URL_LENGTH));
    });
  }

  /** An open dialog stops the page, so that every call would wait for it. */
  #reply(dialog: Dialog): void {
    const said = { kind: dialog.type(), message: dialog.message().slice(0, 500) };
    const isAuthors = isHeardBy(dialog.page());
    const answer = isAuthors ? null : (this.#next.shift() ?? this.#answer);
    const how = typeof answer === 'object' ? 'a text' : answer;
    this.#log.info(said, answer === null ? 'a dialog, left to the scraper' : `a dialog, answered with ${how}`);
    if (answer === null) return;
    const text = typeof answer === 'object' ? answer.text : dialog.defaultValue();
    const done = answer === 'dismiss' ? dialog.dismiss() : dialog.accept(text);
    // It may have gone with its page.
    done.catch(() => {});
  }
}

/** Playwright's objects can count their listeners, although their types do not say so and they are not Node's emitters. */
function isHeardBy(page: Page | null): boolean {
  if (page === null || !('listenerCount' in page) || typeof page.listenerCount !== 'function') return false;
  return page.listenerCount('dialog') > 0;
}

export type DialogAnswer = 'accept' | 'dismiss';

/** With a text, what is entered into a prompt. */
export type NextAnswer = DialogAnswer | { readonly text: string };
