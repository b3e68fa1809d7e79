import type { ResetReason } from '../../contract/events.ts';
import type { Clock } from '../../ports/clock.ts';
import { encodeEvent, type FeedEvent } from './feed-event.ts';
import { FrameRing } from './frame-ring.ts';

/**
 * What happens to one thing, a job or a scrape run, for all its watchers. The feed is
 *
 *   looking   reads the thing once and makes one frame of what is new, for all watchers
 *   resting   for a tick after each look, whatever happens; only urgent news cuts it short
 *   waiting   for anything to happen to it; now and then it looks anyway, for changes made elsewhere
 *   ended     the thing was deleted, there were no watchers for a while, or the feed was stopped; it never resumes
 *
 * So a look costs the same for one watcher and for a hundred, and there is at most one per tick.
 */
export abstract class Feed {
  readonly ring: FrameRing;
  readonly #deps: FeedDeps;
  readonly #watchers = new Set<Watcher>();
  #isEnded = false;
  #hasNews = false;
  #isUrgent = false;
  #emptySince: number;
  #lastSentAt: number;
  #sleeper: { readonly isOver: () => boolean; readonly wake: AbortController } | null = null;
  #look: Promise<void> = Promise.resolve();
  #nextLook: Promise<void> | null = null;

  constructor(deps: FeedDeps) {
    const { settings, clock } = deps;
    this.#deps = deps;
    this.ring = new FrameRing({ idPrefix: deps.idPrefix, maxFrames: settings.maxFrames, maxBytes: deps.maxBytes });
    this.#emptySince = clock.elapsed();
    this.#lastSentAt = clock.elapsed();
  }

  /** Reads the thing, and sends what is new. */
  protected abstract lookOnce(): Promise<void>;
  /** The events from which a watcher knows the current state; null before the first look. */
  protected abstract state(): FeedState | null;
  protected abstract resetEvent(reason: ResetReason): FeedEvent;

  /** How long the next look may wait; Infinity if nothing is due. */
  protected longestWaitMs(): number {
    return Number.POSITIVE_INFINITY;
  }

  /** Whether the thing does not exist, as far as the feed knows, or the feed has ended. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether everything has been sent, unless the thing is reopened. */
  get isOver(): boolean {
    return this.state()?.isLast ?? false;
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

  /** Something happened: it is looked at after the current tick, or at once if it is urgent. */
  protected notice(news: { readonly isUrgent: boolean }): void {
    this.#hasNews = true;
    this.#isUrgent ||= news.isUrgent;
    if (this.#sleeper?.isOver()) this.#sleeper.wake.abort();
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
      const idleMs = Math.max(0, Math.min(settings.idleMs, settings.keepAliveMs - silentMs, this.longestWaitMs()));
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

  /** The current state as of `ring.head`: with the frames after it, nothing is missing. Null before the first look. */
  snapshot(reset: ResetReason | null): { readonly text: string; readonly isLast: boolean } | null {
    const state = this.state();
    if (state === null) return null;
    const events = reset === null ? state.events : [this.resetEvent(reset), ...state.events];
    const id = this.ring.idOf(this.ring.head);
    // Only the last event has the id, so that a client that missed part of it gets all of it again.
    const text = events.map((event, index) => encodeEvent(event, index === events.length - 1 ? id : null)).join('');
    return { text, isLast: state.isLast };
  }

  protected send(events: readonly FeedEvent[], isLast: boolean): void {
    this.ring.add(events, isLast);
    this.#lastSentAt = this.#deps.clock.elapsed();
    for (const { wake } of this.#watchers) wake();
  }

  async #lookInTurn(): Promise<void> {
    await this.#look.catch(() => undefined);
    this.#nextLook = null;
    this.#look = this.#isEnded ? Promise.resolve() : this.lookOnce();
    await this.#look;
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
}

/** What a watcher that begins now is sent. */
export interface FeedState {
  readonly events: readonly FeedEvent[];
  /** Whether streams end after it. */
  readonly isLast: boolean;
}

/** A watcher: what it was given so far, and how to notify it that there is more. */
export interface Watcher {
  /** The number of the last event it was given. */
  last: number;
  isKeepAliveDue: boolean;
  wake: () => void;
}

export interface FeedDeps {
  /** Unique among all feeds of all processes. */
  readonly idPrefix: string;
  readonly clock: Clock;
  readonly maxBytes: () => number;
  readonly onError: (error: unknown) => void;
  readonly settings: FeedSettings;
}

export interface FeedSettings {
  /** Time between two looks, unless there is something urgent. */
  readonly tickMs: number;
  /** Time between two looks while nothing happens. */
  readonly idleMs: number;
  readonly keepAliveMs: number;
  /** How long it continues without watchers, for those that come back. */
  readonly lingerMs: number;
  readonly maxFrames: number;
}
