import type { CDPSession } from 'playwright-core';
import type { TabEvent } from '../../../domain/recording/record/recorded-event.ts';

type How = Extract<TabEvent, { type: 'went' }>['how'];

/** Tells how a tab came to its page: by something in the page before, or by the browser's own controls. */
export class TabHistory {
  readonly #session: CDPSession;
  #index = -1;
  #ids: readonly number[] = [];

  constructor(session: CDPSession) {
    this.#session = session;
  }

  /** Of the last navigation; ask once for each. */
  async goneBy(): Promise<How> {
    const { currentIndex, entries } = await this.#session.send('Page.getNavigationHistory');
    const before = { index: this.#index, ids: this.#ids };
    this.#index = currentIndex;
    this.#ids = entries.map(({ id }) => id);
    const entry = entries[currentIndex];
    const known = entry === undefined ? -1 : before.ids.indexOf(entry.id);
    if (known >= 0 && known < before.index) return 'back';
    if (known > before.index) return 'forward';
    const type = entry?.transitionType ?? 'other';
    if (known >= 0 && known === before.index) return type === 'reload' ? 'reload' : 'followed';
    return TYPED.has(type) ? 'typed' : 'followed';
  }
}

const TYPED: ReadonlySet<string> = new Set(['typed', 'address_bar', 'auto_bookmark', 'generated', 'keyword']);
