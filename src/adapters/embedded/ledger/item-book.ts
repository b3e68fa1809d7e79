import { endedSince, isRecoverable, isReopenable } from '../../../domain/attempts.ts';
import { isCountedIn, type ReadGroup } from '../../../domain/failure-group.ts';
import type { ItemRecord, NewItem, RecoveredItem } from '../../../domain/item.ts';
import { acceptsItems, isRefusal, whenItemsAdded, whenReopened } from '../../../domain/job.ts';
import { whenRecovered } from '../../../domain/job-replacement.ts';
import { sortKnownItems } from '../../../domain/known-items.ts';
import type {
  AddAnswer,
  ItemBook,
  ItemFilter,
  Page,
  PageRequest,
  RecoverAnswer,
  ReopenAnswer,
  RetryFilter,
} from '../../../ports/ledger.ts';
import { type Books, MAX_LOOKED_AT, placeOfCursor } from './books.ts';
import { itemAt, itemPage, itemsFrom } from './item-pages.ts';
import type { JobEntry } from './jobs.ts';
import { dropOutcome, recoverItem } from './outcome-undo.ts';
import { attemptsOf, detailOf, endOf, type OutcomeRow } from './outcomes.ts';
import { lastKey, placeOf, rowKey } from './row-key.ts';
import { encodeSource } from './source-column.ts';

/** Items on SQLite. */
export class EmbeddedItemBook implements ItemBook {
  readonly #books: Books;

  constructor(books: Books) {
    this.#books = books;
  }

  addItems(jobId: string, items: readonly NewItem[], openUntil: number, _now: number): Promise<AddAnswer> {
    return this.#books.durable<AddAnswer>(() => {
      const entry = this.#books.tables.jobs.get(jobId);
      if (entry === null) return { kind: 'missing' };
      const job = entry.record;
      if (!acceptsItems(job)) return { kind: 'closed', status: job.status };

      const { total } = job.counts;
      const known = this.#books.tables.itemIds.known(entry.num, total, items);
      const ends = new Map<number, OutcomeRow>();
      const { duplicates, replacing, differing } = sortKnownItems(items, known, (seq) => {
        const row = this.#books.sql.outcome.get(rowKey(entry.num, seq)) as OutcomeRow | undefined;
        if (row === undefined) return 'pending';
        ends.set(seq, row);
        return endOf(row);
      });
      const added = without(items, duplicates);
      const next = whenItemsAdded(job, { added: added.length, replaced: replacing.length }, openUntil);
      if (next !== job) {
        // Done first, because new items take over the group of the last item if it is also theirs.
        for (const { index, first } of replacing) this.#correctItem(entry, ends.get(first), items[index]);
        this.#books.insertItems(entry.num, total, added);
        this.#books.write(entry, next);
        this.#books.tell({ kind: 'job', job: next, because: 'items' });
      }
      const replaced = replacing.map(({ index }) => index);
      return { kind: 'added', added: added.length, duplicates, replaced, differing };
    });
  }

  item(jobId: string, itemId: string): Promise<ItemRecord | null> {
    return this.#books.read(() => {
      const entry = this.#books.tables.jobs.get(jobId);
      const seq = entry === null ? null : this.#books.tables.itemIds.find(entry.num, itemId);
      return entry === null || seq === null ? null : itemAt(this.#books.tables, entry, seq);
    });
  }

  items(jobId: string, filter: ItemFilter, page: PageRequest): Promise<Page<ItemRecord>> {
    return this.#books.read(() => {
      const entry = this.#books.tables.jobs.get(jobId);
      return entry === null ? { entries: [], next: null } : itemPage(this.#books.tables, entry, filter, page);
    });
  }

  itemsAt(jobId: string, first: number, limit: number): Promise<readonly ItemRecord[]> {
    return this.#books.read(() => {
      const entry = this.#books.tables.jobs.get(jobId);
      return entry === null ? [] : itemsFrom(this.#books.tables, entry, first, limit);
    });
  }

  reopen(
    jobId: string,
    filter: RetryFilter,
    page: PageRequest,
    openUntil: number,
    _now: number,
  ): Promise<ReopenAnswer> {
    const step = (): ReopenAnswer => {
      const entry = this.#books.tables.jobs.get(jobId);
      if (entry === null) return { kind: 'missing' };
      const { rows, next } = this.#failedRows(entry, filter, page);
      const reopened = whenReopened(entry.record, rows.length);
      if (isRefusal(reopened)) return reopened;
      if (!filter.preview) {
        for (const row of rows) this.#reopenItem(entry, row);
        this.#books.write(entry, { ...(rows.length > 0 ? reopened : entry.record), openUntil });
        this.#books.tell({ kind: 'job', job: entry.record, because: 'retry' });
      }
      return { kind: 'reopened', items: rows.length, next };
    };
    return filter.preview ? this.#books.read(step) : this.#books.durable(step);
  }

  recover(jobId: string, by: string, items: readonly RecoveredItem[], _now: number): Promise<RecoverAnswer> {
    return this.#books.durable<RecoverAnswer>(() => {
      const entry = this.#books.tables.jobs.get(jobId);
      if (entry === null) return { kind: 'missing' };
      const found = new Map<number, { row: OutcomeRow; recovered: RecoveredItem }>();
      for (const recovered of items) {
        const row = this.#books.sql.outcome.get(rowKey(entry.num, recovered.seq)) as OutcomeRow | undefined;
        if (row !== undefined && isRecoverable({ status: endOf(row), lastAttempt: row.attempt }, recovered)) {
          found.set(row.key, { row, recovered });
        }
      }
      const next = whenRecovered(entry.record, by, found.size);
      if (isRefusal(next)) return next;
      if (found.size > 0) {
        for (const { row, recovered } of found.values()) recoverItem(this.#books.tables, entry, row, recovered);
        this.#books.write(entry, next);
        this.#books.tell({ kind: 'job', job: next, because: 'recover' });
      }
      return { kind: 'recovered', taken: items.length, items: found.size };
    });
  }

  failureGroups(jobId: string, max: number): Promise<readonly ReadGroup[]> {
    return this.#books.read(() => {
      const entry = this.#books.tables.jobs.get(jobId);
      return entry === null ? [] : this.#books.tables.failureGroups.commonest(entry.num, max);
    });
  }

  /** Makes it pending again, with everything known about its attempts. */
  #reopenItem(entry: JobEntry, row: OutcomeRow): void {
    dropOutcome(this.#books.tables, entry, row);
    this.#books.sql.insertReturned.run(row.key, row.attempt, 0, JSON.stringify(attemptsOf(row, detailOf(row))));
  }

  #correctItem(entry: JobEntry, row: OutcomeRow | undefined, corrected: NewItem | undefined): void {
    if (row === undefined || corrected === undefined) return;
    const { input, source, group = null } = corrected;
    this.#reopenItem(entry, row);
    this.#books.sql.updateItem.run(JSON.stringify(input), encodeSource(source), row.key);
    this.#books.tables.groups.change(entry.num, placeOf(row.key), group, entry.record.counts.total);
  }

  #failedRows(entry: JobEntry, filter: RetryFilter, page: PageRequest): FailedRows {
    const { rows, next } = this.#failedOf(entry, filter, page);
    const isMeant = ({ started_at, duration_ms }: OutcomeRow) =>
      endedSince({ startedAt: started_at, durationMs: duration_ms }, filter.endedSince);
    return { rows: rows.filter(isMeant), next };
  }

  #failedOf(entry: JobEntry, filter: RetryFilter, page: PageRequest): FailedRows {
    const { itemIds, errorType } = filter;
    if (itemIds !== null) return this.#failedAmong(entry, itemIds, filter, page);
    const { after, limit } = page;
    const range = [rowKey(entry.num, placeOfCursor(after)), lastKey(entry.num)] as const;
    const found =
      errorType === null
        ? this.#books.sql.failedAfter.all(...range, limit)
        : this.#books.sql.failedOfTypeAfter.all(errorType, ...range, limit);
    const looked = found as unknown as OutcomeRow[];
    const last = looked.at(-1);
    const rows = looked.filter((row) => isInGroups(row, filter));
    return { rows, next: last !== undefined && looked.length >= limit ? String(placeOf(last.key)) : null };
  }

  /** The cursor is the place in the list. An item may be named twice. */
  #failedAmong(
    entry: JobEntry,
    itemIds: readonly string[],
    filter: RetryFilter,
    { after, limit }: PageRequest,
  ): FailedRows {
    const first = placeOfCursor(after) + 1;
    const end = Math.min(itemIds.length, first + MAX_LOOKED_AT);
    const rows = new Map<number, OutcomeRow>();
    let place = first;
    for (; place < end && rows.size < limit; place += 1) {
      const seq = this.#books.tables.itemIds.find(entry.num, itemIds[place] ?? '');
      if (seq === null) continue;
      const row = this.#books.sql.outcome.get(rowKey(entry.num, seq)) as OutcomeRow | undefined;
      if (row === undefined || !isReopenable(endOf(row))) continue;
      const isOfType = filter.errorType === null || row.error_type === filter.errorType;
      if (isOfType && isInGroups(row, filter)) rows.set(row.key, row);
    }
    return { rows: [...rows.values()], next: place < itemIds.length ? String(place - 1) : null };
  }
}

function isInGroups(row: OutcomeRow, { groupKeys }: RetryFilter): boolean {
  if (groupKeys === null) return true;
  const { failure, isOther = false } = detailOf(row);
  return failure !== undefined && isCountedIn(failure, isOther, groupKeys);
}

interface FailedRows {
  readonly rows: readonly OutcomeRow[];
  readonly next: string | null;
}

function without<T>(list: readonly T[], indexes: readonly number[]): readonly T[] {
  if (indexes.length === 0) return list;
  const left = new Set(indexes);
  return list.filter((_, index) => !left.has(index));
}
