import type { FailureGroup } from '../../../src/domain/failure-group.ts';
import {
  type ItemRecord,
  isSameInput,
  MAX_HISTORY,
  type NewItem,
  type RecoveredItem,
  recoveryOf,
} from '../../../src/domain/item.ts';
import { acceptsItems, isRefusal, whenItemsAdded, whenReopened } from '../../../src/domain/job.ts';
import { whenRecovered } from '../../../src/domain/job-replacement.ts';
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
import { pageOf } from './books.ts';
import { appendItem, type ItemEntry, itemRecord, type JobEntry, makePending, statusOf } from './entries.ts';
import { MemoryJobBook } from './job-book.ts';

export abstract class MemoryItemBook extends MemoryJobBook implements ItemBook {
  addItems(jobId: string, items: readonly NewItem[], openUntil: number, _now: number): Promise<AddAnswer> {
    return this.step<AddAnswer>(() => {
      const entry = this.entries.get(jobId);
      if (entry === undefined) return { kind: 'missing' };
      const job = entry.record;
      if (!acceptsItems(job)) return { kind: 'closed', status: job.status };

      const duplicates: number[] = [];
      const differing: number[] = [];
      items.forEach((item, index) => {
        const known = entry.byId.get(item.itemId);
        if (known === undefined) {
          appendItem(entry, item);
          return;
        }
        duplicates.push(index);
        if (!isSameInput(known.input, item.input)) differing.push(index);
      });
      const added = items.length - duplicates.length;
      const next = whenItemsAdded(job, added, openUntil);
      if (next !== job) {
        this.write(entry, next);
        this.tell({ kind: 'job', job: next, because: 'items' });
      }
      return { kind: 'added', added, duplicates, differing };
    });
  }

  item(jobId: string, itemId: string): Promise<ItemRecord | null> {
    return this.step(() => {
      const item = this.entries.get(jobId)?.byId.get(itemId);
      return item === undefined ? null : itemRecord(jobId, item);
    });
  }

  items(jobId: string, filter: ItemFilter, page: PageRequest): Promise<Page<ItemRecord>> {
    return this.step(() => {
      const items = this.entries.get(jobId)?.items ?? [];
      return pageOf(items, page, (item) => (matches(item, filter) ? itemRecord(jobId, item) : null));
    });
  }

  itemsAt(jobId: string, first: number, limit: number): Promise<readonly ItemRecord[]> {
    return this.step(() => {
      const from = Math.max(0, first);
      const items = this.entries.get(jobId)?.items.slice(from, from + limit) ?? [];
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
    return this.step<ReopenAnswer>(() => {
      const entry = this.entries.get(jobId);
      if (entry === undefined) return { kind: 'missing' };
      const named = filter.itemIds?.map((itemId) => entry.byId.get(itemId)) ?? entry.items;
      const failed: ItemFilter = { status: 'failed', errorType: filter.errorType };
      const found = pageOf(named, page, (item) => (item !== undefined && matches(item, failed) ? item : null));
      // Somebody may have named an item twice.
      const reopened = new Set(found.entries);

      const next = whenReopened(entry.record, reopened.size);
      if (isRefusal(next)) return next;
      if (!filter.preview) {
        for (const item of reopened) this.reopenItem(entry, item);
        this.write(entry, { ...(reopened.size > 0 ? next : entry.record), openUntil });
        this.tell({ kind: 'job', job: entry.record, because: 'retry' });
      }
      return { kind: 'reopened', items: reopened.size, next: found.next };
    });
  }

  recover(jobId: string, by: string, items: readonly RecoveredItem[], _now: number): Promise<RecoverAnswer> {
    return this.step<RecoverAnswer>(() => {
      const entry = this.entries.get(jobId);
      if (entry === undefined) return { kind: 'missing' };
      const found = new Map<ItemEntry, RecoveredItem>();
      for (const recovered of items) {
        const item = entry.items[recovered.seq];
        const hasFailed = item?.final === 'failed' && item.attempts.at(-1)?.attempt === recovered.attempt;
        if (hasFailed) found.set(item, recovered);
      }
      const next = whenRecovered(entry.record, by, found.size);
      if (isRefusal(next)) return next;
      if (found.size > 0) {
        for (const [item, recovered] of found) this.recoverItem(entry, item, recovered);
        this.write(entry, next);
        this.tell({ kind: 'job', job: next, because: 'recover' });
      }
      return { kind: 'recovered', taken: items.length, items: found.size };
    });
  }

  failureGroups(jobId: string, max: number): Promise<readonly FailureGroup[]> {
    return this.step(() => this.entries.get(jobId)?.groups.commonest(max) ?? []);
  }

  protected reopenItem(entry: JobEntry, item: ItemEntry): void {
    entry.groups.remove(item.itemId);
    item.strikes = 0;
    item.artifacts = [];
    makePending(entry, item);
  }

  protected recoverItem(entry: JobEntry, item: ItemEntry, recovered: RecoveredItem): void {
    const reading = recoveryOf(recovered);
    entry.groups.remove(item.itemId);
    item.final = 'success';
    item.deliveries = reading.attempt;
    item.attempts = [...item.attempts, reading].slice(-MAX_HISTORY);
    item.artifacts = recovered.artifacts;
  }
}

function matches(item: ItemEntry, { status, errorType }: ItemFilter): boolean {
  if (status !== null && statusOf(item) !== status) return false;
  return errorType === null || (item.final === 'failed' && item.attempts.at(-1)?.failure?.type === errorType);
}
