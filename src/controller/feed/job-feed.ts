import type { ResetReason } from '../../contract/events.ts';
import { endedOf } from '../../domain/counts.ts';
import type { JobWait } from '../../domain/item-wait.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { JobPace } from '../../domain/job-pace.ts';
import type { JobStatus } from '../../domain/job-steps.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ItemWaits } from '../../ports/item-waits.ts';
import type { JobBook, LedgerChange } from '../../ports/ledger.ts';
import {
  encodeEvent,
  endEvent,
  type FeedEvent,
  goneEvent,
  isOver,
  itemsEvent,
  progressEvent,
  resetEvent,
  statusEvent,
} from './feed-event.ts';
import { FrameRing } from './frame-ring.ts';
import { OutcomeBatch } from './outcome-batch.ts';
import type { RateBook } from './rate-book.ts';

/**
 * What happens to one job, for all its watchers. The feed is
 *
 *   looking   reads the job once and makes one frame of what is new, for all watchers
 *   resting   for a tick after each look, whatever happens; only another status cuts it short
 *   waiting   for anything to happen to the job; now and then it looks anyway, for changes made elsewhere
 *   ended     the job was deleted, there were no watchers for a while, or the feed was stopped; it never resumes
 *
 * So a look costs the same for one watcher and for a hundred, and there is at most one per tick.
 */
export class JobFeed {
  readonly jobId: string;
  readonly ring: FrameRing;
  readonly #deps: JobFeedDeps;
  readonly #outcomes: OutcomeBatch;
  readonly #watchers = new Set<Watcher>();
  #sent: SentState | null = null;
  #isEnded = false;
  #hasNews = false;
  #isUrgent = false;
  /** Since when the job has been over while its end is held back for outcomes that have not arrived; by `elapsed()`. */
  #heldSince: number | null = null;
  #emptySince: number;
  #lastSentAt: number;
  #sleeper: { readonly isOver: () => boolean; readonly wake: AbortController } | null = null;
  #look: Promise<void> = Promise.resolve();
  #nextLook: Promise<void> | null = null;

  constructor(deps: JobFeedDeps) {
    const { settings, clock } = deps;
    this.#deps = deps;
    this.jobId = deps.jobId;
    this.#outcomes = new OutcomeBatch(settings.maxOutcomes);
    this.ring = new FrameRing({
      idPrefix: deps.idPrefix,
      maxFrames: settings.maxFrames,
      maxBytes: deps.maxBytes,
    });
    this.#emptySince = clock.elapsed();
    this.#lastSentAt = clock.elapsed();
  }

  /** Whether the job does not exist, as far as the feed knows, or the feed has ended. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether everything has been sent, unless the job is reopened. */
  get isOver(): boolean {
    return this.#sent !== null && this.#sent.end !== null;
  }

  /** By `elapsed()`; null while there are watchers. */
  get emptySince(): number | null {
    return this.#watchers.size > 0 ? null : this.#emptySince;
  }

  join(watcher: Watcher): void {
    this.#watchers.add(watcher);
  }

  leave(watcher: Watcher): void {
    if (this.#watchers.delete(watcher)) this.#emptySince = this.#deps.clock.elapsed();
  }

  hear(change: Exclude<LedgerChange, { kind: 'fenced' }>): void {
    if (change.kind === 'settled') {
      this.#outcomes.add(change.items);
      this.#isUrgent ||= this.#heldSince !== null;
    }
    if (change.kind === 'job') this.#isUrgent ||= this.#sent !== null && isNewTo(this.#sent, change.job);
    // The first batch starts the job. A first look may be under way, and may have read the earlier state.
    if (change.kind === 'dispatched') this.#isUrgent ||= this.#sent === null || this.#sent.jobStatus === 'pending';
    this.#hasNews = true;
    this.#poke();
  }

  /** The job was deleted, or its manifest was written: worth a look at once. */
  hurry(): void {
    this.#isUrgent = true;
    this.#poke();
  }

  /** Looks until the feed ends; never rejects. */
  async run(): Promise<void> {
    const { clock, settings, onError } = this.#deps;
    while (!this.#isEnded) {
      this.#hasNews = false;
      this.#isUrgent = false;
      await this.look().catch(async (error: unknown) => {
        onError(error);
        await this.#pause(settings.idleMs, () => false);
      });
      if (this.emptySince !== null && clock.elapsed() - this.emptySince >= settings.lingerMs) this.stop();
      this.#keepAlive();
      await this.#pause(settings.tickMs, () => this.#isUrgent);
      const silentMs = clock.elapsed() - this.#lastSentAt;
      const idleMs = Math.max(0, Math.min(settings.idleMs, settings.keepAliveMs - silentMs, this.#holdMs()));
      await this.#pause(idleMs, () => this.#isUrgent || this.#hasNews);
    }
  }

  /** A look that begins after this call: changes made before it are seen. Many callers share one. */
  look(): Promise<void> {
    this.#nextLook ??= this.#lookInTurn();
    return this.#nextLook;
  }

  stop(): void {
    this.#isEnded = true;
    this.#sleeper?.wake.abort();
    for (const { wake } of this.#watchers) wake();
  }

  /** The state of the job as of `ring.head`: with the frames after it, nothing is missing. Null before the first look. */
  snapshot(reset: ResetReason | null): { readonly text: string; readonly isLast: boolean } | null {
    if (this.#sent === null) return null;
    const { status, progress, end } = this.#sent;
    const events = [status, progress, ...(end === null ? [] : [end])];
    if (reset !== null) events.unshift(resetEvent(this.jobId, reset));
    const id = this.ring.idOf(this.ring.head);
    // Only the last event has the id, so that a client that missed part of it gets all of it again.
    const text = events.map((event, index) => encodeEvent(event, index === events.length - 1 ? id : null)).join('');
    return { text, isLast: end !== null };
  }

  async #lookInTurn(): Promise<void> {
    await this.#look.catch(() => undefined);
    this.#nextLook = null;
    this.#look = this.#lookOnce();
    await this.#look;
  }

  async #lookOnce(): Promise<void> {
    const { ledger, rates, itemWaits, clock } = this.#deps;
    if (this.#isEnded) return;
    const job = await ledger.job(this.jobId);
    const sent = this.#sent;
    // Another job with the same id is not the one that was watched.
    if (job === null || (sent !== null && sent.incarnation !== job.incarnation)) {
      if (sent !== null) this.#send([goneEvent(this.jobId)], true);
      this.stop();
      return;
    }
    const at = clock.now();
    const now = tell(job, itemWaits.ofJob(this.jobId, at), rates.pace(this.jobId), at);
    const ended = endedOf(job.counts);
    // The first look is what the first watcher begins with.
    if (sent === null) {
      this.#sent = now;
      this.#outcomes.restart(ended);
      return;
    }
    const isEnd = now.end !== null && now.end.data !== sent.end?.data;
    const unheard = this.#outcomes.countUnheard(ended);
    if (isEnd && unheard > 0 && this.#mayHold()) return;
    this.#heldSince = null;
    if (isEnd) this.#outcomes.writeOffUnheard();
    this.#sent = now;
    const batch = this.#outcomes.take();
    const events: FeedEvent[] = [];
    if (batch !== null) events.push(itemsEvent(this.jobId, batch.shown, batch.omitted));
    if (now.progress.data !== sent.progress.data) events.push(now.progress);
    if (now.key !== sent.key) events.push(now.status);
    if (now.end !== null && isEnd) events.push(now.end);
    if (events.length > 0) this.#send(events, isEnd);
  }

  /** Streams close with the end, so it waits for outcomes still on their way from another machine. */
  #mayHold(): boolean {
    this.#heldSince ??= this.#deps.clock.elapsed();
    return this.#holdMs() > 0;
  }

  /** How much longer the end is held back; Infinity if it is not. */
  #holdMs(): number {
    const { clock, settings } = this.#deps;
    if (this.#heldSince === null) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#heldSince + settings.lateOutcomesMs - clock.elapsed());
  }

  #send(events: readonly FeedEvent[], isLast: boolean): void {
    this.ring.add(events, isLast);
    this.#lastSentAt = this.#deps.clock.elapsed();
    for (const { wake } of this.#watchers) wake();
  }

  /** Proxies and clients consider a silent connection dead. */
  #keepAlive(): void {
    const { clock, settings } = this.#deps;
    if (clock.elapsed() - this.#lastSentAt < settings.keepAliveMs) return;
    this.#lastSentAt = clock.elapsed();
    for (const watcher of this.#watchers) {
      watcher.isKeepAliveDue = true;
      watcher.wake();
    }
  }

  async #pause(ms: number, isOver: () => boolean): Promise<void> {
    if (this.#isEnded || isOver()) return;
    const wake = new AbortController();
    this.#sleeper = { isOver, wake };
    await this.#deps.clock.sleep(ms, wake.signal);
    this.#sleeper = null;
  }

  #poke(): void {
    if (this.#sleeper?.isOver()) this.#sleeper.wake.abort();
  }
}

/** A watcher: what it was given so far, and how to notify it that there is more. */
export interface Watcher {
  /** The number of the last event it was given. */
  last: number;
  isKeepAliveDue: boolean;
  wake: () => void;
}

interface JobFeedDeps {
  readonly jobId: string;
  /** Unique among all feeds of all processes. */
  readonly idPrefix: string;
  readonly ledger: Pick<JobBook, 'job'>;
  readonly rates: Pick<RateBook, 'pace'>;
  readonly itemWaits: Pick<ItemWaits, 'ofJob'>;
  readonly clock: Clock;
  readonly maxBytes: () => number;
  readonly onError: (error: unknown) => void;
  readonly settings: JobFeedSettings;
}

export interface JobFeedSettings {
  /** Time between two looks, unless the status changes. */
  readonly tickMs: number;
  /** Time between two looks while nothing happens. */
  readonly idleMs: number;
  readonly keepAliveMs: number;
  /** How long it continues without watchers, for those that come back. */
  readonly lingerMs: number;
  /** How long the end of a job waits for outcomes that its counters include but that have not been heard of. */
  readonly lateOutcomesMs: number;
  /** Maximum number in one `items` event. */
  readonly maxOutcomes: number;
  readonly maxFrames: number;
}

/** What a watcher that received everything knows. */
interface SentState {
  readonly incarnation: string;
  readonly jobStatus: JobStatus;
  readonly hasManifest: boolean;
  /** What makes a `status` event new: its summary changes all the time. */
  readonly key: string;
  readonly status: FeedEvent;
  readonly progress: FeedEvent;
  readonly end: FeedEvent | null;
}

function tell(job: JobRecord, waits: readonly JobWait[], pace: JobPace | null, now: number): SentState {
  return {
    incarnation: job.incarnation,
    jobStatus: job.status,
    hasManifest: job.manifest !== null,
    key: `${job.status} ${job.reason?.code ?? ''} ${job.reason?.message ?? ''}`,
    status: statusEvent(job),
    progress: progressEvent(job, waits, pace, now),
    end: isOver(job) ? endEvent(job) : null,
  };
}

function isNewTo(sent: SentState, job: JobRecord): boolean {
  return sent.jobStatus !== job.status || sent.hasManifest !== (job.manifest !== null);
}
