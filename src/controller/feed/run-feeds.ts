import type { RunItem } from '../../domain/scrape-run.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RunBook } from '../../ports/run-book.ts';
import type { FeedSettings } from './feed.ts';
import { Feeds, type FeedsSettings, type WatchAnswer } from './feeds.ts';
import { DEFAULT_FEED_SETTINGS } from './job-feeds.ts';
import { RunFeed } from './run-feed.ts';

/** The event streams of scrape runs. They are told by the API what it changed. */
export class RunFeeds {
  readonly #feeds: Feeds<RunFeed>;

  constructor({ runs, clock, onError, settings }: RunFeedsDeps) {
    const all = { ...DEFAULT_FEED_SETTINGS, ...settings };
    this.#feeds = new Feeds({
      clock,
      settings: all,
      open: (runId, own) => new RunFeed({ ...own, runs, runId, settings: all }),
      onError,
    });
  }

  /** Streams that are open now. */
  get watchers(): number {
    return this.#feeds.watchers;
  }

  /** See `Feeds.watch`. */
  watch(runId: string, lastEventId: string | null, signal: AbortSignal): Promise<WatchAnswer> {
    return this.#feeds.watch(runId, lastEventId, signal);
  }

  itemsChanged(runId: string, items: readonly RunItem[]): void {
    this.#feeds.of(runId)?.hear(items);
  }

  runChanged(runId: string): void {
    this.#feeds.of(runId)?.hurry();
  }

  /** Ends all streams; clients reconnect to the server that runs then. */
  close(): Promise<void> {
    return this.#feeds.close();
  }
}

interface RunFeedsDeps {
  readonly runs: Pick<RunBook, 'run'>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
  /** Overrides of the defaults. */
  readonly settings: Partial<FeedSettings & FeedsSettings>;
}
