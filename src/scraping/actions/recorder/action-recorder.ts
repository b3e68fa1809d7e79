import type { BrowserContext, Frame as BrowserFrame, Page, Response } from 'playwright-core';
import { PAGE_EVENT, type RecordedEvent, type TabEvent } from '../../../domain/recording/record/recorded-event.ts';
import type { Frame } from '../../../domain/recording/selector.ts';
import { findFrame } from './find-frame.ts';
import { BINDING, RECORDER_SCRIPT } from './recorder-script.ts';
import { TabHistory } from './tab-history.ts';

/** More than anybody does by hand; a page that makes them up does not fill the memory. */
const MAX_EVENTS = 20_000;

/** Follows the pages of a context, and collects what a person does in them. */
export class ActionRecorder {
  readonly #context: BrowserContext;
  readonly #now: () => number;
  readonly #events: RecordedEvent[] = [];
  readonly #tabs = new Map<Page, number>();
  /** What is still being asked of the browser about an event. */
  readonly #pending = new Set<Promise<void>>();
  readonly #ended = Promise.withResolvers<void>();

  private constructor(context: BrowserContext, now: () => number) {
    this.#context = context;
    this.#now = now;
  }

  /** The page is the first tab, and must not have been used before. */
  static async start(page: Page, now: () => number): Promise<ActionRecorder> {
    const context = page.context();
    const recorder = new ActionRecorder(context, now);
    await context.exposeBinding(BINDING, ({ page: from, frame }, text: unknown) => recorder.#hear(from, frame, text));
    await context.addInitScript({ content: RECORDER_SCRIPT });
    await recorder.#follow(page);
    context.on('page', recorder.#onPage).on('response', recorder.#onResponse).on('close', recorder.#onClose);
    return recorder;
  }

  /** Resolves when the last tab is closed. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** What was done so far. */
  async events(): Promise<readonly RecordedEvent[]> {
    await Promise.allSettled(this.#pending);
    return [...this.#events];
  }

  stop(): void {
    this.#context.off('page', this.#onPage).off('response', this.#onResponse).off('close', this.#onClose);
  }

  readonly #onPage = (page: Page) => {
    const at = this.#now();
    this.#tabOf(page);
    this.#await(
      page.opener().then((opener) => {
        const number = opener === null ? null : (this.#tabs.get(opener) ?? null);
        this.#add(page, { type: 'opened', opener: number }, at);
      }),
    );
    this.#await(this.#follow(page));
  };

  readonly #onClose = () => this.#ended.resolve();

  /** Chromium shows PDFs in a tab of their own. */
  readonly #onResponse = (response: Response) => {
    const page = documentPage(response);
    if (page !== null && /^application\/(?:pdf|octet-stream)/.test(response.headers()['content-type'] ?? '')) {
      this.#add(page, { type: 'document' });
    }
  };

  async #follow(page: Page): Promise<void> {
    this.#tabOf(page);
    page.on('download', () => this.#add(page, { type: 'download' }));
    // With a listener, a dialog is left to the person.
    page.on('dialog', () => {});
    page.on('close', () => {
      this.#add(page, { type: 'closed' });
      if (this.#context.pages().length === 0) this.#ended.resolve();
    });
    const session = await this.#context.newCDPSession(page);
    const history = new TabHistory(session);
    const noteGoing = (url: string) => {
      if (!/^https?:/.test(url)) return;
      const at = this.#now();
      this.#await(history.goneBy(url).then((how) => this.#add(page, { type: 'went', url, how }, at)));
    };
    session.on('Page.frameNavigated', ({ frame }) => {
      if (frame.parentId === undefined) noteGoing(frame.url);
    });
    let kind = 'alert';
    session.on('Page.javascriptDialogOpening', ({ type }) => {
      kind = type;
    });
    session.on('Page.javascriptDialogClosed', ({ result, userInput }) =>
      this.#add(page, { type: 'dialog', kind, isAccepted: result, text: userInput }),
    );
    await session.send('Page.enable');
    // A new tab may have gone somewhere before it was followed.
    noteGoing(page.url());
  }

  #hear(page: Page, frame: BrowserFrame, text: unknown): void {
    const parsed = PAGE_EVENT.safeParse(parseJson(text));
    if (!parsed.success) return;
    const tab = this.#tabOf(page);
    const push = (path: Frame | null) => this.#push({ ...parsed.data, tab, frame: path });
    if (frame === page.mainFrame()) push(null);
    else this.#await(findFrame(frame).then(push));
  }

  #add(page: Page, event: TabEvent, at = this.#now()): void {
    this.#push({ ...event, tab: this.#tabOf(page), at });
  }

  #push(event: RecordedEvent): void {
    if (this.#events.length < MAX_EVENTS) this.#events.push(event);
  }

  #tabOf(page: Page): number {
    const number = this.#tabs.get(page) ?? this.#tabs.size;
    this.#tabs.set(page, number);
    return number;
  }

  /** What fails because its page has gone is left out. */
  #await(work: Promise<void>): void {
    const settled = work.catch(() => {}).finally(() => this.#pending.delete(settled));
    this.#pending.add(settled);
  }
}

function parseJson(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

/** The page that shows this answer; null if none does. */
function documentPage(response: Response): Page | null {
  try {
    const frame = response.frame();
    return response.request().isNavigationRequest() && frame === frame.page().mainFrame() ? frame.page() : null;
  } catch {
    // Of a service worker, or of a page that is gone.
    return null;
  }
}
