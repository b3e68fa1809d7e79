import {
  afterItemChanges,
  afterRunChange,
  countItemChange,
  type NewRun,
  pageOfRuns,
  RUN_ITEM_STATES,
  type RunChange,
  type RunItem,
  type RunItemUpdate,
  type RunQuery,
  type RunRecord,
} from '../../domain/scrape-run.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  AddRunItemsAnswer,
  RunBook,
  RunDraft,
  RunItemPage,
  RunItemQuery,
  RunList,
  UpdateRunItemsAnswer,
} from '../../ports/run-book.ts';
import type { Committer } from './ledger/committer.ts';
import { lastKey, placeOf, rowKey } from './ledger/row-key.ts';
import type { Statements } from './ledger/statements.ts';
import { documentOf, flagsOf, listedRunOf, runItemOf, runOf, stateNumber, urlHash } from './run-rows.ts';

/** Items that one change adds, updates or removes: nothing else happens in the process meanwhile. */
const ITEMS_PER_CHANGE = 200;

/**
 * A row per run, with its counters, and a row per item, whose keys are in the order of the items. An item and the
 * counters of its run change in one transaction.
 */
export class EmbeddedRunBook implements RunBook {
  readonly #sql: Statements;
  readonly #committer: Committer;
  readonly #clock: Clock;
  /** Numbers of drafts of this process. All other runs that are not visible are to be removed. */
  readonly #drafts = new Set<number>();

  constructor(sql: Statements, committer: Committer, clock: Clock) {
    this.#sql = sql;
    this.#committer = committer;
    this.#clock = clock;
  }

  async draft(): Promise<RunDraft> {
    const id = this.#clock.id();
    const num = await this.#committer.applied(() => {
      const inserted = Number(this.#sql.insertRun.run(id).lastInsertRowid);
      // Within the change, so that no sweep takes it for what a dead process left.
      this.#drafts.add(inserted);
      return inserted;
    });
    return {
      add: async (urls) => {
        await this.#inSlices(urls, 'applied', (some) => this.#insert(num, some, 0));
      },
      commit: async (run, now) => {
        const committed = await this.#committer.durable(() => this.#commit(num, run, now));
        this.#drafts.delete(num);
        return committed;
      },
      drop: async () => {
        if (!this.#drafts.delete(num)) return;
        // A commit that was rejected may have been made.
        const row = await this.#committer.read(() => this.#sql.runByNum.get(num));
        if (row !== undefined && row['seen'] === 0) await this.#purge(num, Number(row['total']));
      },
    };
  }

  run(id: string): Promise<RunRecord | null> {
    return this.#committer.read(() => this.#row(id)?.run ?? null);
  }

  list(query: RunQuery): Promise<RunList> {
    return this.#committer.read(() => {
      const { domain } = query;
      const rows = domain === undefined ? this.#sql.allRuns.all() : this.#sql.runsOfDomain.all(domain);
      const { runs, total } = pageOfRuns(rows.map(listedRunOf), query);
      return { runs: runs.flatMap(({ id }) => this.#row(id)?.run ?? []), total };
    });
  }

  items(id: string, { state, after, limit }: RunItemQuery): Promise<RunItemPage> {
    return this.#committer.read(() => {
      const num = this.#row(id)?.num;
      const place = after === null ? -1 : Number(after);
      if (num === undefined || !Number.isSafeInteger(place)) return { items: [], next: null };
      const range = [rowKey(num, place), lastKey(num), limit + 1] as const;
      const found =
        state === null
          ? this.#sql.runItemsAfter.all(...range)
          : this.#sql.runItemsOfStateAfter.all(RUN_ITEM_STATES.indexOf(state), ...range);
      const rows = found.slice(0, limit);
      const last = rows.at(-1)?.['key'];
      return { items: rows.map(runItemOf), next: found.length > limit ? String(placeOf(Number(last))) : null };
    });
  }

  async add(id: string, urls: readonly string[], now: number): Promise<AddRunItemsAnswer> {
    const answers = await this.#inSlices(urls, 'durable', (some) => {
      const found = this.#row(id);
      if (found === null) return 'missing';
      return found.run.endedAt === null ? this.#insert(found.num, some, now) : 'ended';
    });
    const added = answers.reduce<number>((sum, answer) => sum + (typeof answer === 'number' ? answer : 0), 0);
    const refused = answers.find((answer) => typeof answer === 'string');
    return refused === undefined ? { kind: 'added', added, known: urls.length - added } : { kind: refused };
  }

  async update(id: string, updates: readonly RunItemUpdate[], now: number): Promise<UpdateRunItemsAnswer> {
    const changed = new Map<string, RunItem>();
    const unknown: string[] = [];
    const answers = await this.#inSlices(updates, 'durable', (some) => this.#update(id, some, now));
    for (const answer of answers) {
      if (answer === null) return { kind: 'missing' };
      for (const item of answer.changed) changed.set(item.url, item);
      unknown.push(...answer.unknown);
    }
    return { kind: 'updated', changed: [...changed.values()], unknown };
  }

  change(id: string, change: RunChange, now: number): Promise<RunRecord | null> {
    return this.#committer.durable(() => {
      const found = this.#row(id);
      if (found === null) return null;
      const next = afterRunChange(found.run, change, now);
      if (next !== found.run) {
        this.#sql.changeRun.run(next.status, next.endedAt, documentOf(next), next.updatedAt, found.num);
      }
      return next;
    });
  }

  async remove(id: string): Promise<boolean> {
    const removed = await this.#committer.durable(() => {
      const found = this.#row(id);
      if (found !== null) this.#sql.hideRun.run(found.num);
      return found;
    });
    if (removed !== null) await this.#purge(removed.num, removed.run.counts.total);
    return removed !== null;
  }

  async sweep(): Promise<void> {
    for (let last = 0; ; ) {
      const row = await this.#committer.read(() => this.#sql.unseenRunAfter.get(last));
      if (row === undefined) return;
      last = Number(row['num']);
      if (!this.#drafts.has(last)) await this.#purge(last, Number(row['total']));
    }
  }

  /** One change for some of them at a time, in order. */
  #inSlices<T, R>(list: readonly T[], promise: 'applied' | 'durable', work: (some: readonly T[]) => R): Promise<R[]> {
    const slices: (readonly T[])[] = [list.slice(0, ITEMS_PER_CHANGE)];
    for (let at = ITEMS_PER_CHANGE; at < list.length; at += ITEMS_PER_CHANGE) {
      slices.push(list.slice(at, at + ITEMS_PER_CHANGE));
    }
    return Promise.all(slices.map((some) => this.#committer[promise](() => work(some))));
  }

  #commit(num: number, { domain, source, startedAt, metadata }: NewRun, now: number): RunRecord {
    this.#sql.seeRun.run(domain, startedAt, now, now, documentOf({ source, metadata }), num);
    return this.#byNum(num);
  }

  /** Returns how many are new. */
  #insert(num: number, urls: readonly string[], now: number): number {
    let { total } = this.#byNum(num).counts;
    const before = total;
    for (const url of urls) {
      const hash = urlHash(num, url);
      if (this.#sql.runItem.get(hash, url, rowKey(num, 0), lastKey(num)) !== undefined) continue;
      this.#sql.insertRunItem.run(rowKey(num, total), hash, url);
      total += 1;
    }
    if (total > before) this.#sql.growRun.run(total - before, now, num);
    return total - before;
  }

  #update(id: string, updates: readonly RunItemUpdate[], now: number) {
    const found = this.#row(id);
    if (found === null) return null;
    const { num, run } = found;
    const changed: RunItem[] = [];
    const unknown: string[] = [];
    let { counts } = run;
    for (const { url, changes } of updates) {
      const row = this.#sql.runItem.get(urlHash(num, url), url, rowKey(num, 0), lastKey(num));
      if (row === undefined) {
        unknown.push(url);
        continue;
      }
      const item = runItemOf(row);
      const next = afterItemChanges(item, changes);
      if (next === item) continue;
      this.#sql.updateRunItem.run(stateNumber(next), flagsOf(next), next.failedReason, Number(row['key']));
      counts = countItemChange(counts, item, next);
      changed.push(next);
    }
    if (changed.length > 0) {
      const status = run.status === 'pending' ? 'processing' : run.status;
      this.#sql.countRun.run(status, counts.completed, counts.failed, counts.invalid, now, num);
    }
    return { changed, unknown };
  }

  /** Its items first, so that a process that dies here leaves a run that is not visible for the next sweep. */
  async #purge(num: number, total: number): Promise<void> {
    for (let at = 0; at < total; at += ITEMS_PER_CHANGE) {
      const range = [rowKey(num, at), rowKey(num, at + ITEMS_PER_CHANGE - 1)] as const;
      await this.#committer.applied(() => this.#sql.deleteRunItemsBetween.run(...range));
    }
    await this.#committer.applied(() => this.#sql.deleteRun.run(num));
  }

  #row(id: string): { readonly num: number; readonly run: RunRecord } | null {
    const row = this.#sql.run.get(id);
    return row === undefined ? null : { num: Number(row['num']), run: runOf(row) };
  }

  #byNum(num: number): RunRecord {
    const row = this.#sql.runByNum.get(num);
    if (row === undefined) throw new Error('the draft of a run was dropped');
    return runOf(row);
  }
}
