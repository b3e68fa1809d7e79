import type { ReadGroup } from '../../../domain/failure-group.ts';
import type { ItemRecord, NewItem, RecoveredItem, RepeatedItem } from '../../../domain/item.ts';
import { acceptsItems, whenItemsAdded } from '../../../domain/job.ts';
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
import { rowBytes } from '../dynamo/row-size.ts';
import type { Action } from '../dynamo/table.ts';
import type { Books } from './books.ts';
import { type ChunkItem, inputRows, readChunk } from './chunk.ts';
import { Correcting } from './correcting.ts';
import { directoryActions } from './directories.ts';
import type { FailureGroups } from './failure-groups.ts';
import { hasNewestRun } from './finding.ts';
import { hotAction, hotSetOf } from './hot-change.ts';
import { ItemPages } from './item-pages.ts';
import { sameEpoch } from './job-book.ts';
import { type JobRows, metaRow } from './job-rows.ts';
import { chunkOf } from './keys.ts';
import { knownItems, locateItems } from './known-items.ts';
import { Recovering } from './recovering.ts';
import { Reopening } from './reopening.ts';

/** Items on DynamoDB, a hundred or more per row. */
export class DynamoItemBook implements ItemBook {
  readonly #books: Books;
  readonly #groups: FailureGroups;
  readonly #pages: ItemPages;
  readonly #reopening: Reopening;
  readonly #recovering: Recovering;
  readonly #correcting: Correcting;

  constructor(books: Books, groups: FailureGroups) {
    this.#books = books;
    this.#groups = groups;
    this.#pages = new ItemPages(books);
    this.#reopening = new Reopening(books, groups, this.#pages, (job, ids) => locateItems(books, job, ids));
    this.#recovering = new Recovering(books, groups);
    this.#correcting = new Correcting(books, groups);
  }

  async addItems(jobId: string, items: readonly NewItem[], openUntil: number, _now: number): Promise<AddAnswer> {
    const known: RepeatedItem[] = [];
    let added = 0;
    let done = 0;
    do {
      const answer = await this.#books.untilDone(() => this.#addSome(jobId, items.slice(done), openUntil));
      if (answer.kind !== 'added') return answer;
      const before = done;
      known.push(...answer.known.map((one) => ({ ...one, index: before + one.index })));
      added += answer.added;
      done += answer.looked;
    } while (done < items.length);
    const corrected = await this.#correct(jobId, items, known, openUntil);
    return corrected.kind === 'corrected' ? { ...corrected, kind: 'added', added } : corrected;
  }

  /** Only failed items are replaced, which is known when they are read. */
  async #correct(jobId: string, items: readonly NewItem[], known: readonly RepeatedItem[], openUntil: number) {
    const { replacing } = sortKnownItems(items, known, () => 'failed');
    const wanted = replacing.flatMap(({ index }) => items[index] ?? []);
    const answer = await this.#correcting.correct(jobId, wanted, openUntil);
    if (answer.kind !== 'corrected') return answer;
    const places = new Set(replacing.filter((_, at) => answer.isReplaced[at]).map(({ first }) => first));
    const sorted = sortKnownItems(items, known, (place) => (places.has(place) ? 'failed' : 'pending'));
    const { duplicates, differing } = sorted;
    return { kind: 'corrected', duplicates, replaced: indexesOf(sorted.replacing), differing } as const;
  }

  /** All of them, unless they are too large for one transaction: then as many as fit. */
  async #addSome(jobId: string, items: readonly NewItem[], openUntil: number) {
    const { table, ids } = this.#books;
    const job = await this.#books.readJob(jobId);
    if (job === null) return { kind: 'missing' } as const;
    const { record, inc, epoch } = job;
    if (!acceptsItems(record)) return { kind: 'closed', status: record.status } as const;
    const known = await knownItems(this.#books, job, record.counts.total, items);
    if (known === 'moved') return undefined;

    const { fresh, rows, looked } = cutToSize(job, items, known);
    const next = whenItemsAdded(record, { added: fresh.length, replaced: 0 }, openUntil);
    const found = known.filter(({ index }) => index < looked);
    const answer = { kind: 'added', added: fresh.length, known: found, looked } as const;
    if (next === record) return answer;
    const index = await ids.append(
      job,
      fresh.map(({ itemId }) => itemId),
    );
    if (index === 'moved') return undefined;
    const after: JobRows = { ...job, record: next, epoch: epoch + 1, runs: index.runs };
    const set = hotSetOf(job, next);
    const hot = hotAction(jobId, {}, { ...set, numbers: { ...set.numbers, epoch: epoch + 1 } }, { inc, epoch });
    const done = await table.transact([
      { put: metaRow(after), when: sameEpoch(job) },
      hot,
      ...rows.map((row): Action => ({ put: row })),
      ...directoryActions(inc, jobId, record, next),
    ]);
    if (done.kind === 'refused' && !(fresh.length > 0 && (await hasNewestRun(this.#books, jobId, after)))) {
      await index.lost();
      return undefined;
    }
    await index.committed();
    this.#books.tellJob(next, 'items');
    return answer;
  }

  async item(jobId: string, itemId: string): Promise<ItemRecord | null> {
    return await this.#books.untilDone(async () => {
      const job = await this.#books.readJob(jobId);
      if (job === null) return null;
      const places = await locateItems(this.#books, job, [itemId]);
      if (places === 'moved') return undefined;
      const [seq = null] = places;
      if (seq === null) return null;
      const items = await readChunk(this.#books.table, job, chunkOf(seq));
      return items.find(({ record }) => record.seq === seq)?.record ?? null;
    });
  }

  async items(jobId: string, filter: ItemFilter, page: PageRequest): Promise<Page<ItemRecord>> {
    const job = await this.#books.readJob(jobId);
    if (job === null) return { entries: [], next: null };
    const { entries, next } = await this.#pages.page(job, filter, page);
    return { entries: entries.map(({ record }: ChunkItem) => record), next };
  }

  async itemsAt(jobId: string, first: number, limit: number): Promise<readonly ItemRecord[]> {
    const job = await this.#books.readJob(jobId);
    if (job === null) return [];
    const from = Math.max(0, first);
    const after = from === 0 ? null : String(from - 1);
    const { entries } = await this.#pages.page(job, { status: null, errorType: null }, { after, limit });
    return entries.map(({ record }) => record);
  }

  async reopen(
    jobId: string,
    filter: RetryFilter,
    page: PageRequest,
    openUntil: number,
    _now: number,
  ): Promise<ReopenAnswer> {
    return await this.#reopening.reopen(jobId, filter, page, openUntil);
  }

  async recover(jobId: string, by: string, items: readonly RecoveredItem[], _now: number): Promise<RecoverAnswer> {
    return await this.#recovering.recover(jobId, by, items);
  }

  async failureGroups(jobId: string, max: number): Promise<readonly ReadGroup[]> {
    const job = await this.#books.readJob(jobId);
    return job === null ? [] : await this.#groups.commonest(job.inc, max);
  }
}

/** Rows of inputs in one transaction, which has a hundred actions and four megabytes on the wire. */
const MOST_ROWS = 80;
const MOST_BYTES = 2_500_000;

/** The first items whose rows fit into one transaction; existing ones are left out. */
function cutToSize(job: JobRows, items: readonly NewItem[], known: readonly RepeatedItem[]) {
  const isKnown = new Set(known.map(({ index }) => index));
  const { total } = job.record.counts;
  for (let looked = items.length; ; looked = Math.ceil(looked / 2)) {
    const fresh = items.slice(0, looked).filter((_, index) => !isKnown.has(index));
    const rows = inputRows(job.inc, total, fresh);
    const size = rows.reduce((sum, row) => sum + rowBytes(row), 0);
    const isSmall = rows.length <= MOST_ROWS && size <= MOST_BYTES;
    if (isSmall || looked <= 1) return { fresh, rows, looked };
  }
}

function indexesOf(items: readonly RepeatedItem[]): readonly number[] {
  return items.map(({ index }) => index);
}
