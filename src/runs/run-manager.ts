import { domainOf } from '../domain/items-to-sessions.ts';
import type { Clock } from '../ports/clock.ts';
import type { EtlClient, ItemUpdate, RefusedUpdate } from './etl/etl-client.ts';
import type { CreateScrapeRunResponse, ItemChanges, ItemStats, ScrapeRunItem } from './types.ts';

/** How long a run is used from memory. We change its items ourselves; another manager's changes are seen after this. */
const FRESH_MS = 2000;
/** A run of 100,000 items takes some 30 MB. */
const MAX_KNOWN_RUNS = 4;

/** Newest runs to look at where a server does not filter by status. It lists them with all their items. */
const NEWEST = 20;

const OVER = ['completed', 'failed', 'finished'];

/** The life of scrape runs: which one is active, what is pending in it, and how its items and the run itself end. */
export class RunManager {
  readonly #etl: EtlClient;
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly run: CreateScrapeRunResponse; readonly readAt: number }>();
  /** Counts changes, before and after each. */
  #changes = 0;

  constructor(etl: EtlClient, clock: Clock) {
    this.#etl = etl;
    this.#clock = clock;
  }

  async createRun(domain: string, urls: readonly string[] = []): Promise<CreateScrapeRunResponse> {
    return this.#etl.createScrapeRun({
      domain,
      metadata: { started_at: this.#now() },
      ...(urls.length === 0 ? {} : { items: urls.map((url) => ({ url })) }),
    });
  }

  /**
   * The newest run of the domain that has not ended, preferring one that is being processed; or null. Asked by status,
   * however many runs have ended since, and because a list comes with all items of its runs. Pending ones first: a run
   * that begins to be processed between the two questions is in one of the answers.
   */
  async getActiveRun(domain: string): Promise<CreateScrapeRunResponse | null> {
    const pending = await this.#newest(domain, { status: 'pending', limit: 1 });
    const processing = await this.#newest(domain, { status: 'processing', limit: 1 });
    const isFiltered = hasOnly(pending, 'pending') && hasOnly(processing, 'processing');
    const newest = isFiltered ? [...processing, ...pending] : await this.#newest(domain, { limit: NEWEST });
    const open = newest.filter((run) => run.domain === domain && isOpen(run)).sort(newestFirst);
    return open.find(({ status }) => status === 'processing') ?? open[0] ?? null;
  }

  async #newest(domain: string, query: { readonly status?: string; readonly limit: number }) {
    return (await this.#etl.listScrapeRuns({ domain, ...query, sortBy: 'startTime', sortOrder: 'desc' })).data;
  }

  /** Items that are neither done nor failed nor invalid. `again` includes failed and invalid ones. */
  async getPendingItems(
    runId: string,
    { again = [] }: { readonly again?: readonly ('failed' | 'invalid')[] } = {},
  ): Promise<ScrapeRunItem[]> {
    const { items } = await this.#read(runId);
    return items.filter((item) => isPending(item) || again.some((why) => !item.done && item[why] === true));
  }

  /** Only the fields that are given change, so that two managers of one run do not undo each other's work. */
  async updateItemStatus(runId: string, item: Pick<ScrapeRunItem, 'url'>, changes: ItemChanges): Promise<void> {
    await this.#changed(runId, this.#etl.updateScrapeRunItem(runId, { updateItem: { url: item.url, changes } }));
  }

  /** Several, in the given order for each item. Returns those that the server refused for their own sake. */
  updateItemStatuses(runId: string, updates: readonly ItemUpdate[]): Promise<readonly RefusedUpdate[]> {
    return this.#changed(runId, this.#etl.updateScrapeRunItems(runId, updates));
  }

  /** Reads the run first, unless its counts are given. */
  async finalizeRun(runId: string, counted?: ItemStats): Promise<ItemStats> {
    this.forget(runId);
    const stats = counted ?? (await this.getRunStats(runId));
    const { total, completed, failed } = stats;
    const endTime = this.#now();
    const metadata = { finished_at: endTime, finished_count: completed, total_count: total, failed_count: failed };
    const finalizing = this.#etl.finalizeScrapeRun(runId, { status: 'finished', endTime, metadata });
    await this.#changed(runId, finalizing);
    return stats;
  }

  /** The run as it is now, whatever was read a moment ago. */
  getRun(runId: string): Promise<CreateScrapeRunResponse> {
    this.forget(runId);
    return this.#read(runId);
  }

  /** Invalid items count as failed: both have ended without a result. */
  async getRunStats(runId: string): Promise<ItemStats> {
    return itemStats((await this.#read(runId)).items);
  }

  /** Also if it failed: it may have arrived. */
  async #changed<T>(runId: string, change: Promise<T>): Promise<T> {
    this.forget(runId);
    try {
      return await change;
    } finally {
      this.forget(runId);
    }
  }

  /** The next question reads the run again, and until then none of it is in memory. */
  forget(runId: string): void {
    this.#changes += 1;
    this.#known.delete(runId);
  }

  async #read(runId: string): Promise<CreateScrapeRunResponse> {
    const readAt = this.#clock.elapsed();
    for (const [id, known] of this.#known) if (readAt - known.readAt >= FRESH_MS) this.#known.delete(id);
    const known = this.#known.get(runId);
    if (known !== undefined) return known.run;
    const changes = this.#changes;
    const run = await this.#etl.fetchScrapeRun(runId);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MAX_KNOWN_RUNS && oldest !== undefined) this.#known.delete(oldest);
    // What was read before a change must not be used after it.
    if (changes === this.#changes) this.#known.set(runId, { run, readAt });
    return run;
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

export function isPending({ done, failed, invalid }: ScrapeRunItem): boolean {
  return !done && failed !== true && invalid !== true;
}

export function itemStats(items: readonly ScrapeRunItem[]): ItemStats {
  const stats = { total: items.length, pending: 0, completed: 0, failed: 0 };
  const byDomain = new Map<string, number>();
  for (const item of items) {
    if (item.done) stats.completed += 1;
    else if (isPending(item)) stats.pending += 1;
    else stats.failed += 1;
    const domain = domainOf(item.url);
    byDomain.set(domain, (byDomain.get(domain) ?? 0) + 1);
  }
  return { ...stats, byDomain: Object.fromEntries(byDomain) };
}

function hasOnly(runs: readonly CreateScrapeRunResponse[], wanted: string): boolean {
  return runs.every(({ status }) => status === wanted);
}

function isOpen({ status, endTime }: CreateScrapeRunResponse): boolean {
  return endTime === null && !OVER.includes(status ?? '');
}

function newestFirst(one: CreateScrapeRunResponse, other: CreateScrapeRunResponse): number {
  return Date.parse(other.startTime) - Date.parse(one.startTime);
}
