import type { CDPSession } from 'playwright-core';
import type { TabEvent } from '../../../domain/recording/record/recorded-event.ts';

type How = Extract<TabEvent, { type: 'went' }>['how'];
type History = Awaited<ReturnType<typeof askHistory>>;

/** Tells how a tab came to its page: by something in the page before, or by the browser's own controls. */
export class TabHistory {
  readonly #session: CDPSession;
  #index = -1;
  #ids: readonly number[] = [];
  #type = 'other';
  /** The history is compared with what it was at the navigation before. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(session: CDPSession) {
    this.#session = session;
  }

  /** How the tab came to this address; ask once for each navigation, in their order. */
  goneBy(url: string): Promise<How> {
    const how = this.#last.then(() => this.#read(url));
    this.#last = how.catch(() => {});
    return how;
  }

  async #read(url: string): Promise<How> {
    const { currentIndex, entries } = await this.#historyAt(url);
    const before = { index: this.#index, ids: this.#ids };
    const entry = entries[currentIndex];
    this.#index = currentIndex;
    this.#ids = entries.map(({ id }) => id);
    this.#type = entry?.transitionType ?? 'other';
    const known = entry === undefined ? -1 : before.ids.indexOf(entry.id);
    if (known >= 0 && known < before.index) return 'back';
    if (known > before.index) return 'forward';
    if (known >= 0 && known === before.index) return this.#type === 'reload' ? 'reload' : 'followed';
    return TYPED.has(this.#type) ? 'typed' : 'followed';
  }

  /**
   * The renderer says that it has navigated, and the browser process, which has the history, may hear of it later than
   * of our question.
   */
  async #historyAt(url: string): Promise<History> {
    for (let asked = 1; ; asked += 1) {
      const history = await askHistory(this.#session);
      const entry = history.entries[history.currentIndex];
      const isThere = entry !== undefined && withoutFragment(entry.url) === withoutFragment(url);
      const isAsBefore = entry?.id === this.#ids[this.#index] && entry?.transitionType === this.#type;
      if ((isThere && !isAsBefore) || asked === MOST_QUESTIONS) return history;
    }
  }
}

const TYPED: ReadonlySet<string> = new Set(['typed', 'address_bar', 'auto_bookmark', 'generated', 'keyword']);

/** A page that has gone on to another address is never found at this one, and a second reload changes nothing. */
const MOST_QUESTIONS = 30;

function withoutFragment(url: string): string {
  return url.split('#', 1)[0] ?? url;
}

function askHistory(session: CDPSession) {
  return session.send('Page.getNavigationHistory');
}
