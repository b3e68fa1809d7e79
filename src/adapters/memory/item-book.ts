import type { FailureGroup } from '../../domain/failure-group.ts';
import type { ItemRecord, NewItem } from '../../domain/item.ts';
import { acceptsItems, isRefusal, whenItemsAdded, whenReopened } from '../../domain/job.ts';
import type {
  AddAnswer,
  ItemBook,
  ItemFilter,
  Page,
  PageRequest,
  ReopenAnswer,
  RetryFilter,
} from '../../ports/ledger.ts';
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
      items.forEach((item, index) => {
        if (entry.byId.has(item.itemId)) duplicates.push(index);
        else appendItem(entry, item);
      });
      const added = items.length - duplicates.length;
      const next = whenItemsAdded(job, added, openUntil);
      if (next !== job) {
        this.write(entry, next);
        this.tell({ kind: 'job', job: next, because: 'items' });
      }
      return { kind: 'added', added, duplicates };
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

  failureGroups(jobId: string, max: number): Promise<readonly FailureGroup[]> {
    return this.step(() => this.entries.get(jobId)?.groups.commonest(max) ?? []);
  }

  protected reopenItem(entry: JobEntry, item: ItemEntry): void {
    entry.groups.remove(item.itemId);
    item.strikes = 0;
    makePending(entry, item);
  }
}

function matches(item: ItemEntry, { status, errorType }: ItemFilter): boolean {
  if (status !== null && statusOf(item) !== status) return false;
  return errorType === null || (item.final === 'failed' && item.attempts.at(-1)?.failure?.type === errorType);
}
