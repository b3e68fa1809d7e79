import { afterAttempt } from '../domain/after-attempt.ts';
import type { Failure } from '../domain/failure.ts';
import type { ItemInput } from '../domain/item.ts';
import type { Policy } from '../domain/policy.ts';
import type { ProxyType } from '../domain/proxy-policy.ts';
import type { Clock } from '../ports/clock.ts';
import type { Draft, ResultStore } from '../ports/result-store.ts';
import type { BatchScope } from '../scraping/batch-scope.ts';
import type { ScrapeContext, ScrapeTools } from '../scraping/scraper.ts';
import type { UsageMeter } from '../scraping/usage-meter.ts';
import type { ItemTime } from './item-time.ts';

/** What all tries of one attempt share. */
export interface TriedItem {
  readonly jobId: string;
  readonly jobCreatedAt: number;
  readonly itemId: string;
  readonly depth: number;
  readonly policy: Policy;
  readonly batch: BatchScope;
  readonly usage: UsageMeter;
  readonly clock: Clock;
  readonly store: Pick<ResultStore, 'draft'>;
  /** Drafts that were opened and not discarded. */
  readonly drafts: Draft[];
  readonly time: ItemTime;
  tools(): ScrapeTools;
}

/** The position of a try in its attempt. */
interface TryPlace {
  readonly tryNumber: number;
  readonly identity: number;
  readonly proxyType: ProxyType;
  readonly proxySession: number;
  readonly proxyFaults: number;
}

/**
 * What one try lends to its scraper. The tools and the signal are created on demand, so that an item without requests
 * does not pay for them.
 */
export class TryContext<Input = ItemInput> implements Omit<ScrapeContext, 'input'> {
  readonly input: Input;
  readonly #item: TriedItem;
  readonly #place: TryPlace;
  readonly #end: TryEnd;

  constructor(input: Input, item: TriedItem, place: TryPlace, end: TryEnd = new TryEnd()) {
    this.input = input;
    this.#item = item;
    this.#place = place;
    this.#end = end;
  }

  withInput<Checked>(input: Checked): TryContext<Checked> {
    return new TryContext(input, this.#item, this.#place, this.#end);
  }

  get jobId(): string {
    return this.#item.jobId;
  }

  get jobCreatedAt(): number {
    return this.#item.jobCreatedAt;
  }

  get itemId(): string {
    return this.#item.itemId;
  }

  get depth(): number {
    return this.#item.depth;
  }

  get policy(): Policy {
    return this.#item.policy;
  }

  get batch(): BatchScope {
    return this.#item.batch;
  }

  get usage(): UsageMeter {
    return this.#item.usage;
  }

  get tools(): ScrapeTools {
    return this.#item.tools();
  }

  get tryNumber(): number {
    return this.#place.tryNumber;
  }

  get identity(): number {
    return this.#place.identity;
  }

  get proxyType(): ProxyType {
    return this.#place.proxyType;
  }

  get proxySession(): number {
    return this.#place.proxySession;
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  // Scrapers take the functions out of their context like values, so each is bound to it.

  get now(): () => number {
    return () => this.#item.clock.now();
  }

  get sleep(): (ms: number) => Promise<void> {
    return (ms) => this.#sleep(ms);
  }

  get isRetried(): (failure: Failure) => boolean {
    return (failure) => {
      const { tryNumber: tries, proxyFaults } = this.#place;
      const so = { tries, proxyFaults, remainingMs: this.#item.time.remainingMs() };
      // Assumes the longest wait: what a scraper leaves to another try must not be lost because there is none.
      return afterAttempt(so, failure, this.policy.retries, LONGEST_WAIT).kind === 'retry';
    };
  }

  get waitUncounted(): <T>(wait: () => Promise<T>) => Promise<T> {
    return (wait) => this.#item.time.stopDuring(wait);
  }

  get draft(): () => Draft {
    return () => {
      // An abandoned scraper would open one that is never discarded.
      if (this.#end.isOver) throw new Error('the try is over: there is no room for another document');
      const draft = this.#item.store.draft();
      this.#item.drafts.push(draft);
      return draft;
    };
  }

  /** The try is over, whether or not its scraper has noticed. */
  end(): void {
    this.#end.come();
  }

  /**
   * An abandoned scraper that waits in a loop would spin forever without letting others run: so the end of the try is
   * an error here, and it is thrown in the next turn of the event loop.
   */
  async #sleep(ms: number): Promise<void> {
    const { clock } = this.#item;
    await clock.sleep(ms, this.#end.signal);
    if (!this.#end.isOver) return;
    await clock.turn();
    throw new Error(OVER);
  }
}

/** The largest value below 1. */
const LONGEST_WAIT = 1 - Number.EPSILON;

/** An abort without a reason creates an exception with a stack trace: a quarter of the cost of an empty item. */
const OVER = 'the try is over';

/** The end of a try, and the signal that announces it to code that asks for one. */
class TryEnd {
  #isOver = false;
  #controller: AbortController | null = null;

  get isOver(): boolean {
    return this.#isOver;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isOver) this.#controller.abort(OVER);
    return this.#controller.signal;
  }

  come(): void {
    this.#isOver = true;
    this.#controller?.abort(OVER);
  }
}
