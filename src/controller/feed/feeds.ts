import type { ResetReason } from '../../contract/events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Feed, FeedDeps, Watcher } from './feed.ts';
import { KEEP_ALIVE, OPENING } from './feed-event.ts';

/** Event streams, of jobs or of scrape runs, by the id of what is watched. */
export class Feeds<Watched extends Feed> {
  readonly #deps: FeedsDeps<Watched>;
  /** Prefix of all ids of this process, so that ids of an earlier one are recognised. */
  readonly #life: string;
  readonly #feeds = new Map<string, Watched>();
  readonly #running = new Set<Promise<void>>();
  #opened = 0;
  #watchers = 0;
  #isClosed = false;

  constructor(deps: FeedsDeps<Watched>) {
    this.#deps = deps;
    this.#life = deps.clock.id();
  }

  /** Streams that are open now. */
  get watchers(): number {
    return this.#watchers;
  }

  /** The feed of what is being watched; undefined if it is not. */
  of(id: string): Watched | undefined {
    return this.#feeds.get(id);
  }

  /**
   * What to write to a watcher, from `lastEventId` on; each piece is requested when the previous one is written, so that
   * a slow reader costs nothing but what it misses. `signal` must abort when the connection is gone: the watcher is
   * counted until then, or until the stream ends.
   * `full`: there are too many watchers, try again later. `over`: this client has seen the end, and should not
   * reconnect.
   */
  async watch(id: string, lastEventId: string | null, signal: AbortSignal): Promise<WatchAnswer> {
    if (this.#isClosed || this.#watchers >= this.#deps.settings.maxWatchers) return 'full';
    const known = this.#feeds.get(id);
    if (known === undefined || known.isEnded) return await this.#join(this.#open(id), lastEventId, signal);
    const answer = await this.#join(known, lastEventId, signal);
    // That feed ended while it looked: what it watched is deleted by now, and there may be something new with its id.
    return answer === 'missing' ? await this.#join(this.#open(id), lastEventId, signal) : answer;
  }

  async #join(feed: Watched, lastEventId: string | null, signal: AbortSignal): Promise<WatchAnswer> {
    const watcher: Watcher = { last: 0, isKeepAliveDue: false, wake: () => undefined };
    // Counted before the first wait: many clients that arrive at once must not exceed the limit together.
    this.#watchers += 1;
    feed.join(watcher);
    let isIn = true;
    const leave = () => {
      if (!isIn) return;
      isIn = false;
      this.#watchers -= 1;
      feed.leave(watcher);
      signal.removeEventListener('abort', leave);
      watcher.wake();
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      await feed.look();
    } catch (error) {
      leave();
      throw error;
    }
    const answer = this.#isClosed ? 'full' : begin(feed, watcher, lastEventId);
    if (typeof answer === 'string') {
      leave();
      return answer;
    }
    // The connection may have closed before it was registered.
    if (signal.aborted) leave();
    return stream(feed, watcher, answer, () => !isIn || this.#isClosed, leave);
  }

  /** Ends all streams; clients reconnect to the server that runs then. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const feed of this.#feeds.values()) feed.stop();
    await Promise.all(this.#running);
  }

  #open(id: string): Watched {
    const { settings, clock, open, onError } = this.#deps;
    if (this.#feeds.size >= settings.maxWatchers) this.#stopOldestEmpty();
    this.#opened += 1;
    const feed = open(id, {
      idPrefix: `${this.#life}.${this.#opened}`,
      clock,
      onError,
      maxBytes: () => Math.min(settings.maxBytesPerFeed, settings.maxBytes / this.#feeds.size),
    });
    this.#feeds.set(id, feed);
    const running = feed.run().finally(() => {
      this.#running.delete(running);
      if (this.#feeds.get(id) === feed) this.#feeds.delete(id);
    });
    this.#running.add(running);
    return feed;
  }

  #stopOldestEmpty(): void {
    let oldest: { readonly id: string; readonly feed: Watched; readonly since: number } | null = null;
    for (const [id, feed] of this.#feeds) {
      const since = feed.emptySince;
      if (since !== null && (oldest === null || since < oldest.since)) oldest = { id, feed, since };
    }
    if (oldest === null) return;
    oldest.feed.stop();
    this.#feeds.delete(oldest.id);
  }
}

export type WatchAnswer = AsyncGenerator<Uint8Array, void, undefined> | 'missing' | 'full' | 'over';

interface FeedsDeps<Watched extends Feed> {
  readonly clock: Clock;
  readonly open: (id: string, deps: Omit<FeedDeps, 'settings'>) => Watched;
  readonly onError: (error: unknown) => void;
  readonly settings: FeedsSettings;
}

export interface FeedsSettings {
  readonly maxWatchers: number;
  /** Limits for frames that are kept for returning clients, per feed and for all feeds together. */
  readonly maxBytesPerFeed: number;
  readonly maxBytes: number;
}

interface Beginning {
  readonly text: string;
  readonly isLast: boolean;
}

/** Where a watcher begins: after the event it saw last, or with the current state. */
function begin(feed: Feed, watcher: Watcher, lastEventId: string | null): Beginning | 'missing' | 'over' {
  if (feed.isEnded) return 'missing';
  const seen = lastEventId === null ? null : feed.ring.numberOf(lastEventId);
  if (seen !== null && feed.ring.after(seen) !== 'dropped') {
    if (seen === feed.ring.head && feed.isOver) return 'over';
    watcher.last = seen;
    return { text: OPENING, isLast: false };
  }
  const reset = lastEventId === null ? null : seen === null ? 'unknown_id' : 'too_old';
  const { text, isLast } = afresh(feed, watcher, reset);
  return { text: OPENING + text, isLast };
}

function afresh(feed: Feed, watcher: Watcher, reset: ResetReason | null): Beginning {
  watcher.last = feed.ring.head;
  return feed.snapshot(reset) ?? { text: '', isLast: true };
}

async function* stream(
  feed: Feed,
  watcher: Watcher,
  beginning: Beginning,
  isGone: () => boolean,
  leave: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield Buffer.from(beginning.text);
    let isLast = beginning.isLast;
    while (!isLast && !isGone()) {
      const piece = feed.ring.after(watcher.last);
      if (piece === 'dropped') {
        const again = afresh(feed, watcher, 'too_slow');
        yield Buffer.from(again.text);
        isLast = again.isLast;
      } else if (piece !== null) {
        watcher.last = piece.last;
        watcher.isKeepAliveDue = false;
        yield piece.bytes;
        isLast = piece.isLast;
      } else if (feed.isEnded) {
        return;
      } else if (watcher.isKeepAliveDue) {
        watcher.isKeepAliveDue = false;
        yield SIGN_OF_LIFE;
      } else {
        await new Promise<void>((resolve) => {
          watcher.wake = resolve;
        });
      }
    }
  } finally {
    leave();
  }
}

const SIGN_OF_LIFE: Uint8Array = Buffer.from(KEEP_ALIVE);
