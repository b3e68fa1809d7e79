import type { ItemRecord } from '../../domain/item.ts';
import type { ScrapeRunItem } from '../../domain/items-to-sessions.ts';
import { changesFor, isReported, type RunOrder, runItemEnd } from '../../domain/run-order.ts';
import type { Faults } from '../../ports/faults.ts';
import type { ItemBook, SettledItem } from '../../ports/ledger.ts';
import type { ItemUpdate } from '../etl/etl-client.ts';
import { isPending, itemStats, type RunManager } from '../run-manager.ts';
import type { ItemStats } from '../types.ts';

export interface ReporterDeps {
  readonly ledger: Pick<ItemBook, 'items' | 'itemsAt'>;
  readonly manager: RunManager;
  readonly faults: Faults;
  readonly log: { warn(fields: object, message: string): void };
}

const UPDATES_AT_ONCE = 500;
const ITEMS_PER_PAGE = 500;
/** Reading this many items that have not ended costs less than another call. */
const SMALL_GAP = 20;
/** Places that are remembered. If there are more, all items are compared instead. */
const MOST_DUE = 50_000;

/**
 * Reports the items of one job to its run. The job is the outbox: what has ended there and is not yet so in the run is
 * due. It is `behind` until it has compared all of them, as after a start and after a failure; from then on it hears of
 * each item that ends. What is reported is always what the ledger says now, and one report follows the other, so that the
 * last one of an item is the true one. Calls must not overlap.
 */
export class RunReporter {
  readonly #deps: ReporterDeps;
  readonly #order: RunOrder;
  readonly #jobId: string;
  /** Places of items that have ended since. */
  #due = new Set<number>();
  #isBehind: boolean;

  constructor(deps: ReporterDeps, order: RunOrder, jobId: string, { isBehind }: { readonly isBehind: boolean }) {
    this.#deps = deps;
    this.#order = order;
    this.#jobId = jobId;
    this.#isBehind = isBehind;
  }

  get order(): RunOrder {
    return this.#order;
  }

  get hasDue(): boolean {
    return this.#isBehind || this.#due.size > 0;
  }

  heard(items: readonly Pick<SettledItem, 'seq'>[]): void {
    if (this.#isBehind) return;
    for (const { seq } of items) this.#due.add(seq);
    if (this.#due.size > MOST_DUE) this.fallBehind();
  }

  /** Something may have been missed. */
  fallBehind(): void {
    this.#isBehind = true;
    this.#due.clear();
  }

  async report(): Promise<void> {
    if (this.#isBehind) {
      await this.compare();
      return;
    }
    const due = this.#due;
    this.#due = new Set();
    await this.#orFallBehind(async () => {
      let updates: ItemUpdate[] = [];
      for (const { first, count } of rangesOf([...due].sort((one, other) => one - other))) {
        for (const item of await this.#itemsAt(first, count)) {
          if (due.has(item.seq)) updates.push(...this.#updateFor(item, null));
        }
        if (updates.length < UPDATES_AT_ONCE) continue;
        await this.#send(updates);
        updates = [];
      }
      await this.#send(updates);
    });
  }

  /** Compares every item of the job with the run, and reports what differs. */
  async compare(): Promise<Compared> {
    // What ends from here on is heard, and may be reported twice.
    this.#isBehind = false;
    this.#due.clear();
    return await this.#orFallBehind(async () => {
      const { known, stats } = await this.#readRun();
      let pending = 0;
      for (const item of known.values()) if (isPending(item)) pending += 1;
      let sent = 0;
      let after: string | null = null;
      do {
        const page: Awaited<ReturnType<ItemBook['items']>> = await this.#deps.ledger.items(this.#jobId, ANY, {
          ...{ after, limit: ITEMS_PER_PAGE },
        });
        const updates = page.entries.flatMap((item) => {
          const there = known.get(this.#urlOf(item));
          return there === undefined ? [] : this.#updateFor(item, there);
        });
        await this.#send(updates);
        sent += updates.length;
        for (const item of page.entries) known.delete(this.#urlOf(item));
        after = page.next;
      } while (after !== null);
      let others = 0;
      for (const item of known.values()) if (isPending(item)) others += 1;
      return { others, pending, sent, stats };
    });
  }

  /** Items of the run by URL. Nothing else refers to them, so they go as they are compared. */
  async #readRun() {
    const { manager } = this.#deps;
    const { runId } = this.#order;
    const { items } = await manager.getRun(runId);
    manager.forget(runId);
    const known = new Map<string, ScrapeRunItem>();
    for (const item of items) {
      // A server may apply a change only to the first of several items with the same URL.
      if (!known.has(item.url) || !isPending(item)) known.set(item.url, item);
    }
    return { known, stats: itemStats(items) };
  }

  async #orFallBehind<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.fallBehind();
      throw error;
    }
  }

  async #itemsAt(first: number, count: number): Promise<readonly ItemRecord[]> {
    const found: ItemRecord[] = [];
    for (let at = first; at < first + count; ) {
      const some = await this.#deps.ledger.itemsAt(this.#jobId, at, first + count - at);
      if (some.length === 0) break;
      found.push(...some);
      at += some.length;
    }
    return found;
  }

  /** Nothing if it has not ended, or the run already says so. `known` is null if it is not known what the run says. */
  #updateFor(item: ItemRecord, known: ScrapeRunItem | null): readonly ItemUpdate[] {
    const end = runItemEnd(item);
    if (end === null || (known !== null && isReported(known, end))) return [];
    const isRepeated = known === null ? this.#order.again.length > 0 || item.attempts.length > 1 : !isPending(known);
    return [{ url: this.#urlOf(item), changes: changesFor(end, isRepeated) }];
  }

  #urlOf({ input }: ItemRecord): string {
    return String(input[this.#order.field] ?? '');
  }

  async #send(updates: readonly ItemUpdate[]): Promise<void> {
    if (updates.length === 0) return;
    const { manager, faults, log } = this.#deps;
    const { runId } = this.#order;
    await faults.at('before-run-report');
    const refused = await manager.updateItemStatuses(runId, updates);
    await faults.at('after-run-report');
    for (const { url, reason } of refused) log.warn({ run_id: runId, url }, `not reported: ${reason}`);
  }
}

export interface Compared {
  /** Pending items of the run that the job does not have. */
  readonly others: number;
  /** All URLs that were pending in the run when it was read. */
  readonly pending: number;
  /** Items that were reported since. */
  readonly sent: number;
  /** The run as it was read. */
  readonly stats: ItemStats;
}

const ANY = { status: null, errorType: null } as const;

/** Places in order, joined over small gaps, at most a page each. */
function* rangesOf(places: readonly number[]): Generator<{ readonly first: number; readonly count: number }> {
  let [first] = places;
  let last = first;
  if (first === undefined || last === undefined) return;
  for (const place of places) {
    if (place - last > SMALL_GAP || place - first >= ITEMS_PER_PAGE) {
      yield { first, count: last - first + 1 };
      first = place;
    }
    last = place;
  }
  yield { first, count: last - first + 1 };
}
