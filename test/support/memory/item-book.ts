import { earlierAttempts, endedSince, isRecoverable, isReopenable } from '../../../src/domain/attempts.ts';
import type { ReadGroup } from '../../../src/domain/failure-group.ts';
import {
  type ItemRecord,
  isSameInput,
  NEXT_ITEM_STATUS,
  type NewItem,
  type RecoveredItem,
  type RepeatedItem,
  recoveryOf,
} from '../../../src/domain/item.ts';
import { acceptsItems, isRefusal, whenItemsAdded, whenReopened } from '../../../src/domain/job.ts';
import { whenRecovered } from '../../../src/domain/job-replacement.ts';
import { sortKnownItems } from '../../../src/domain/known-items.ts';
import type {
  AddAnswer,
  ItemBook,
  ItemFilter,
  Page,
  PageRequest,
  RecoverAnswer,
  ReopenAnswer,
  RetryFilter,
} from '../../../src/ports/ledger.ts';
import { type MemoryCore, pageOf } from './core.ts';
import { appendItem, type ItemEntry, itemRecord, type JobEntry, makePending, statusOf } from './entries.ts';

/** Items: added, listed, reopened and recovered. */
export class MemoryItemBook implements ItemBook {
  protected readonly core: MemoryCore;

  constructor(core: MemoryCore) {
    this.core = core;
  }

  addItems(jobId: string, items: readonly NewItem[], openUntil: number, _now: number): Promise<AddAnswer> {
    return this.core.step<AddAnswer>(() => {
      const entry = this.core.entries.get(jobId);
      if (entry === undefined) return { kind: 'missing' };
      const job = entry.record;
      if (!acceptsItems(job)) return { kind: 'closed', status: job.status };

      const known: RepeatedItem[] = [];
      items.forEach((item, index) => {
        const there = entry.byId.get(item.itemId);
        if (there === undefined) appendItem(entry, item);
        else known.push({ index, first: there.seq, differs: !isSameInput(there.input, item.input) });
      });
      const { duplicates, replacing, differing } = sortKnownItems(items, known, (seq) => {
        const item = entry.items[seq];
        return item === undefined ? 'pending' : statusOf(item);
      });
      for (const { index, first } of replacing) {
        const [item, corrected] = [entry.items[first], items[index]];
        if (item !== undefined && corrected !== undefined) this.correctItem(entry, item, corrected);
      }
      const added = items.length - duplicates.length;
      const next = whenItemsAdded(job, { added, replaced: replacing.length }, openUntil);
      if (next !== job) {
        this.core.write(entry, next);
        this.core.tell({ kind: 'job', job: next, because: 'items' });
      }
      return { kind: 'added', added, duplicates, replaced: replacing.map(({ index }) => index), differing };
    });
  }

  item(jobId: string, itemId: string): Promise<ItemRecord | null> {
    return this.core.step(() => {
      const item = this.core.entries.get(jobId)?.byId.get(itemId);
      return item === undefined ? null : itemRecord(jobId, item);
    });
  }

  items(jobId: string, filter: ItemFilter, page: PageRequest): Promise<Page<ItemRecord>> {
    return this.core.step(() => {
      const items = this.core.entries.get(jobId)?.items ?? [];
      return pageOf(items, page, (item) => (matches(item, filter) ? itemRecord(jobId, item) : null));
    });
  }

  itemsAt(jobId: string, first: number, limit: number): Promise<readonly ItemRecord[]> {
    return this.core.step(() => {
      const from = Math.max(0, first);
      const items = this.core.entries.get(jobId)?.items.slice(from, from + limit) ?? [];
      return items.map((item) => itemRecord(jobId, item));
    });
  }

  reopen(
    jobId: string,
    filter: RetryFilter,
    page: PageRequest,
    openUntil: number,
    _now: number,
  ): Promise<ReopenAnswer> {
    return this.core.step<ReopenAnswer>(() => {
      const entry = this.core.entries.get(jobId);
      if (entry === undefined) return { kind: 'missing' };
      const named = filter.itemIds?.map((itemId) => entry.byId.get(itemId)) ?? entry.items;
      const wanted: ItemFilter = { status: null, errorType: filter.errorType };
      const found = pageOf(named, page, (item) => {
        if (item === undefined || !isReopenable(statusOf(item)) || !matches(item, wanted)) return null;
        if (!endedSince(item.attempts.at(-1), filter.endedSince)) return null;
        return filter.groupKeys === null || filter.groupKeys.includes(entry.groups.keyOf(item.itemId) ?? '')
          ? item
          : null;
      });
      // An item may be named twice.
      const reopened = new Set(found.entries);

      const next = whenReopened(entry.record, reopened.size);
      if (isRefusal(next)) return next;
      if (!filter.preview) {
        for (const item of reopened) this.reopenItem(entry, item);
        this.core.write(entry, { ...(reopened.size > 0 ? next : entry.record), openUntil });
        this.core.tell({ kind: 'job', job: entry.record, because: 'retry' });
      }
      return { kind: 'reopened', items: reopened.size, next: found.next };
    });
  }

  recover(jobId: string, by: string, items: readonly RecoveredItem[], _now: number): Promise<RecoverAnswer> {
    return this.core.step<RecoverAnswer>(() => {
      const entry = this.core.entries.get(jobId);
      if (entry === undefined) return { kind: 'missing' };
      const found = new Map<ItemEntry, RecoveredItem>();
      for (const recovered of items) {
        const item = entry.items[recovered.seq];
        if (item === undefined) continue;
        const known = { status: statusOf(item), lastAttempt: item.attempts.at(-1)?.attempt };
        if (isRecoverable(known, recovered)) found.set(item, recovered);
      }
      const next = whenRecovered(entry.record, by, found.size);
      if (isRefusal(next)) return next;
      if (found.size > 0) {
        for (const [item, recovered] of found) this.recoverItem(entry, item, recovered);
        this.core.write(entry, next);
        this.core.tell({ kind: 'job', job: next, because: 'recover' });
      }
      return { kind: 'recovered', taken: items.length, items: found.size };
    });
  }

  failureGroups(jobId: string, max: number): Promise<readonly ReadGroup[]> {
    return this.core.step(() => this.core.entries.get(jobId)?.groups.commonest(max) ?? []);
  }

  protected reopenItem(entry: JobEntry, item: ItemEntry): void {
    entry.groups.remove(item.itemId);
    item.strikes = 0;
    item.artifacts = [];
    makePending(entry, item);
  }

  protected correctItem(entry: JobEntry, item: ItemEntry, { input, source, group }: NewItem): void {
    item.input = input;
    item.source = source ?? null;
    item.group = group ?? null;
    this.reopenItem(entry, item);
  }

  protected recoverItem(entry: JobEntry, item: ItemEntry, recovered: RecoveredItem): void {
    const reading = recoveryOf(recovered);
    entry.groups.remove(item.itemId);
    item.final = NEXT_ITEM_STATUS.failed.recover;
    item.deliveries = reading.attempt;
    item.attempts = [...earlierAttempts(item.attempts), reading];
    item.artifacts = recovered.artifacts;
  }
}

function matches(item: ItemEntry, { status, errorType }: ItemFilter): boolean {
  if (status !== null && statusOf(item) !== status) return false;
  return errorType === null || (item.final === 'failed' && item.attempts.at(-1)?.failure?.type === errorType);
}
