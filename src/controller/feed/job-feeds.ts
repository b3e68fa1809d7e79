import type { Clock } from '../../ports/clock.ts';
import type { ItemWaits } from '../../ports/item-waits.ts';
import type { JobBook } from '../../ports/ledger.ts';
import type { StepRecords } from '../../ports/step-records.ts';
import type { EngineEvent, EventStream } from '../engine/events.ts';
import { Feeds, type FeedsSettings, type WatchAnswer } from './feeds.ts';
import { JobFeed, type JobFeedSettings } from './job-feed.ts';
import type { RateBook } from './rate-book.ts';

/**
 * The event streams of jobs. A job without watchers costs one map look-up per event; one with watchers is looked at
 * once per tick, and what is new is written once, into a buffer that all its watchers share.
 */
export class JobFeeds {
  readonly #feeds: Feeds<JobFeed>;
  readonly #unsubscribe: () => void;

  constructor(deps: JobFeedsDeps) {
    const { events, clock } = deps;
    const settings = { ...DEFAULT_FEED_SETTINGS, ...deps.settings };
    this.#feeds = new Feeds({
      clock,
      settings,
      open: (jobId, own) => new JobFeed({ ...deps, ...own, jobId, settings }),
      onError: (error) => events.publish({ kind: 'engine-error', where: 'job feed', error }),
    });
    this.#unsubscribe = events.subscribe((event) => this.#hear(event));
  }

  /** Streams that are open now. */
  get watchers(): number {
    return this.#feeds.watchers;
  }

  /** See `Feeds.watch`. */
  watch(jobId: string, lastEventId: string | null, signal: AbortSignal): Promise<WatchAnswer> {
    return this.#feeds.watch(jobId, lastEventId, signal);
  }

  /** Ends all streams; clients reconnect to the server that runs then. */
  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#feeds.close();
  }

  #hear(event: EngineEvent): void {
    switch (event.kind) {
      case 'job':
        this.#feeds.of(event.job.jobId)?.hear(event);
        return;
      case 'settled':
      case 'dispatched':
      case 'claimed':
      case 'returned':
        this.#feeds.of(event.jobId)?.hear(event);
        return;
      case 'manifest-written':
      case 'job-removed':
        this.#feeds.of(event.jobId)?.hurry();
    }
  }
}

export interface JobFeedsDeps {
  readonly events: EventStream;
  readonly ledger: Pick<JobBook, 'job'>;
  readonly rates: Pick<RateBook, 'pace'>;
  readonly itemWaits: Pick<ItemWaits, 'ofJob'>;
  readonly stepRecords: Pick<StepRecords, 'ofJob'>;
  readonly clock: Clock;
  /** Overrides of the defaults. */
  readonly settings: Partial<JobFeedsSettings>;
}

export interface JobFeedsSettings extends JobFeedSettings, FeedsSettings {}

const MIB = 1 << 20;

export const DEFAULT_FEED_SETTINGS: JobFeedsSettings = {
  tickMs: 500,
  stepsMs: 5000,
  idleMs: 5000,
  keepAliveMs: 15_000,
  lingerMs: 60_000,
  // An idle controller on AWS asks for news once a second, and a busy machine takes its time.
  lateOutcomesMs: 3000,
  maxOutcomes: 100,
  // Two minutes of ticks.
  maxFrames: 256,
  maxWatchers: 1000,
  maxBytesPerFeed: MIB,
  maxBytes: 64 * MIB,
};
