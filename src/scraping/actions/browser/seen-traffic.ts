import type { BrowserContext, Download, Response } from 'playwright-core';
import { passesUrl } from '../../../domain/recording/text-test.ts';
import type { Tab } from '../../browser/tab.ts';
import type { ResponseWish } from '../engine.ts';

/** Of a page that never stops asking, the last answers are known. */
const MAX_RESPONSES = 500;

/** Downloads and answers that came while steps were carried out: a later step may ask for one that has come already. */
export class SeenTraffic {
  readonly #context: BrowserContext;
  readonly #stopDownloads: () => void;
  readonly #onResponse = (response: Response) => {
    this.#responses.push(response);
    if (this.#responses.length <= MAX_RESPONSES) return;
    this.#responses.shift();
    this.#mark = Math.max(0, this.#mark - 1);
  };
  readonly #responses: Response[] = [];
  readonly #downloads: Download[] = [];
  /** Where the answers to the last action begin. */
  #mark = 0;

  /** `watchesResponses`: false for a recording that asks for none, as most do. */
  constructor(tab: Tab, watchesResponses: boolean) {
    this.#context = tab.page.context();
    this.#stopDownloads = tab.onDownload((download) => this.#downloads.push(download));
    if (watchesResponses) this.#context.on('response', this.#onResponse);
  }

  end(): void {
    this.#stopDownloads();
    this.#context.off('response', this.#onResponse);
  }

  /** An action begins. */
  mark(): void {
    this.#mark = this.#responses.length;
  }

  /** The latest that fits; null if there is none yet. */
  response({ url, method, status, isAnyTime }: ResponseWish): Response | null {
    const since = isAnyTime ? this.#responses : this.#responses.slice(this.#mark);
    return (
      since.findLast(
        (each) =>
          passesUrl(url, each.url()) &&
          (method === null || each.request().method() === method) &&
          (status === null || each.status() === status),
      ) ?? null
    );
  }

  /** The download that began last; null if none has. */
  get download(): Download | null {
    return this.#downloads.at(-1) ?? null;
  }

  /** It is kept by one step only. */
  takeDownload(): Download | null {
    return this.#downloads.pop() ?? null;
  }
}
