import type { ResetReason } from '../../contract/events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ItemWaits } from '../../ports/item-waits.ts';
import type { JobBook } from '../../ports/ledger.ts';
import type { EngineEvent, EventStream } from '../engine/events.ts';
import { KEEP_ALIVE, OPENING } from './feed-event.ts';
import { JobFeed, type JobFeedSettings, type Watcher } from './job-feed.ts';
import type { RateBook } from './rate-book.ts';

/**
 * The event streams of jobs. A job without watchers costs one map look-up per event; one with watchers is looked at
 * once per tick, and what is new is written once, into a buffer that all its watchers share.
 */
export class JobFeeds {
  readonly #deps: JobFeedsDeps;
  readonly #settings: JobFeedsSettings;
  /** Prefix of all ids of this process, so that ids of an earlier one are recognised. */
  readonly #life: string;
  readonly #feeds = new Map<string, JobFeed>();
  readonly #running = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;
  #opened = 0;
  #watchers = 0;
  #isClosed = false;

  constructor(deps: JobFeedsDeps) {
    this.#deps = deps;
    this.#settings = { ...DEFAULT_FEED_SETTINGS, ...deps.settings };
    this.#life = deps.clock.id();
    this.#unsubscribe = deps.events.subscribe((event) => this.#hear(event));
  }

  /** Streams that are open now. */
  get watchers(): number {
    return this.#watchers;
  }

  /**
   * What to write to a watcher of the job, from `lastEventId` on; each piece is requested when the previous one is
   * written, so that a slow reader costs nothing but what it misses. `signal` must abort when the connection is gone:
   * the watcher is counted until then, or until the stream ends.
   * `full`: there are too many watchers, try again later. `over`: this client has seen the job's end, and should not
   * reconnect.
   */
  async watch(jobId: string, lastEventId: string | null, signal: AbortSignal): Promise<WatchAnswer> {
    if (this.#isClosed || this.#watchers >= this.#settings.maxWatchers) return 'full';
    const known = this.#feeds.get(jobId);
    if (known === undefined || known.isEnded) return await this.#join(this.#open(jobId), lastEventId, signal);
    const answer = await this.#join(known, lastEventId, signal);
    // That feed ended while it looked: it was of a job that is deleted by now, and there may be a new one with its id.
    return answer === 'missing' ? await this.#join(this.#open(jobId), lastEventId, signal) : answer;
  }

  async #join(feed: JobFeed, lastEventId: string | null, signal: AbortSignal): Promise<WatchAnswer> {
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
    this.#unsubscribe();
    for (const feed of this.#feeds.values()) feed.stop();
    await Promise.all(this.#running);
  }

  #open(jobId: string): JobFeed {
    if (this.#feeds.size >= this.#settings.maxWatchers) this.#stopOldestEmpty();
    this.#opened += 1;
    const { events } = this.#deps;
    const feed = new JobFeed({
      ...this.#deps,
      jobId,
      idPrefix: `${this.#life}.${this.#opened}`,
      settings: this.#settings,
      maxBytes: () => Math.min(this.#settings.maxBytesPerJob, this.#settings.maxBytes / this.#feeds.size),
      onError: (error) => events.publish({ kind: 'engine-error', where: 'job feed', error }),
    });
    this.#feeds.set(jobId, feed);
    const running = feed.run().finally(() => {
      this.#running.delete(running);
      if (this.#feeds.get(jobId) === feed) this.#feeds.delete(jobId);
    });
    this.#running.add(running);
    return feed;
  }

  #stopOldestEmpty(): void {
    let oldest: JobFeed | null = null;
    for (const feed of this.#feeds.values()) {
      if (feed.emptySince === null) continue;
      if (oldest === null || feed.emptySince < (oldest.emptySince ?? 0)) oldest = feed;
    }
    if (oldest === null) return;
    oldest.stop();
    this.#feeds.delete(oldest.jobId);
  }

  #hear(event: EngineEvent): void {
    if (this.#feeds.size === 0) return;
    switch (event.kind) {
      case 'job':
        this.#feeds.get(event.job.jobId)?.hear(event);
        return;
      case 'settled':
      case 'dispatched':
      case 'claimed':
      case 'returned':
        this.#feeds.get(event.jobId)?.hear(event);
        return;
      case 'manifest-written':
      case 'job-removed':
        this.#feeds.get(event.jobId)?.hurry();
    }
  }
}

type WatchAnswer = AsyncGenerator<Uint8Array, void, undefined> | 'missing' | 'full' | 'over';

export interface JobFeedsDeps {
  readonly events: EventStream;
  readonly ledger: Pick<JobBook, 'job'>;
  readonly rates: Pick<RateBook, 'pace'>;
  readonly itemWaits: Pick<ItemWaits, 'ofJob'>;
  readonly clock: Clock;
  /** Overrides of the defaults. */
  readonly settings: Partial<JobFeedsSettings>;
}

export interface JobFeedsSettings extends JobFeedSettings {
  readonly maxWatchers: number;
  /** Limits for frames that are kept for returning clients, per job and for all jobs together. */
  readonly maxBytesPerJob: number;
  readonly maxBytes: number;
}

const MIB = 1 << 20;

export const DEFAULT_FEED_SETTINGS: JobFeedsSettings = {
  tickMs: 500,
  idleMs: 5000,
  keepAliveMs: 15_000,
  lingerMs: 60_000,
  // An idle controller on AWS asks for news once a second, and a busy machine takes its time.
  lateOutcomesMs: 3000,
  maxOutcomes: 100,
  // Two minutes of ticks.
  maxFrames: 256,
  maxWatchers: 1000,
  maxBytesPerJob: MIB,
  maxBytes: 64 * MIB,
};

interface Beginning {
  readonly text: string;
  readonly isLast: boolean;
}

/** Where a watcher begins: after the event it saw last, or with the current state of the job. */
function begin(feed: JobFeed, watcher: Watcher, lastEventId: string | null): Beginning | 'missing' | 'over' {
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

function afresh(feed: JobFeed, watcher: Watcher, reset: ResetReason | null): Beginning {
  watcher.last = feed.ring.head;
  return feed.snapshot(reset) ?? { text: '', isLast: true };
}

async function* stream(
  feed: JobFeed,
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
