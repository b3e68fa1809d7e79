import { isRefusal, type JobRecord, whenReopened } from '../../domain/job.ts';
import type { PageRequest, ReopenAnswer, RetryFilter } from '../../ports/ledger.ts';
import { atOnce } from './at-once.ts';
import type { Books } from './books.ts';
import { type ChunkItem, readChunk } from './chunk.ts';
import { directoryActions } from './directories.ts';
import type { CountedFailure, FailureGroups } from './failure-groups.ts';
import { hotAction, hotSetOf } from './hot-change.ts';
import type { ItemPage, ItemPages } from './item-pages.ts';
import { sameEpoch } from './job-book.ts';
import { type JobRows, metaRow } from './job-rows.ts';
import { chunkOf } from './keys.ts';
import { reopenMark } from './outcome-log.ts';
import { poolRow } from './pool.ts';
import type { Action } from './table.ts';

type Locate = (job: JobRows, itemIds: readonly string[]) => Promise<readonly (number | null)[] | 'moved'>;

/** Failed items that are to be tried again: marked as reopened in their chunk, and put where the next dispatch finds them. */
export class Reopening {
  readonly #books: Books;
  readonly #groups: FailureGroups;
  readonly #pages: ItemPages;
  readonly #locate: Locate;

  constructor(books: Books, groups: FailureGroups, pages: ItemPages, locate: Locate) {
    this.#books = books;
    this.#groups = groups;
    this.#pages = pages;
    this.#locate = locate;
  }

  async reopen(jobId: string, filter: RetryFilter, page: PageRequest, openUntil: number): Promise<ReopenAnswer> {
    return await this.#books.untilDone<ReopenAnswer>(async () => {
      const job = await this.#books.readJob(jobId);
      if (job === null) return { kind: 'missing' };
      const found = await this.#find(job, filter, page);
      if (found === 'moved') return undefined;
      const items = found.entries.length;
      const next = whenReopened(job.record, items);
      if (isRefusal(next)) return next;
      if (filter.preview) return { kind: 'reopened', items, next: found.next };

      const record = { ...(items > 0 ? next : job.record), openUntil };
      const answer = await this.#books.table.transact(await this.#actions(job, record, found.entries));
      if (answer.kind === 'refused') return undefined;
      this.#books.tellJob(record, 'retry');
      return { kind: 'reopened', items, next: found.next };
    });
  }

  /** No more than goes into one transaction: so many items, and of so many chunks. */
  async #find(job: JobRows, filter: RetryFilter, { after, limit }: PageRequest): Promise<ItemPage | 'moved'> {
    const failed = { status: 'failed', errorType: filter.errorType } as const;
    const most = Math.min(limit, MOST_ITEMS);
    if (filter.itemIds === null) return await this.#pages.page(job, failed, { after, limit: most });

    const first = after === null ? 0 : Number(after) + 1;
    const named = filter.itemIds.slice(first, first + MOST_ITEMS);
    const places = await this.#locate(job, named);
    if (places === 'moved') return 'moved';
    const chunks = [...new Set(places.filter((seq) => seq !== null).map(chunkOf))];
    const read = await atOnce(CHUNKS_AT_ONCE, chunks, (chunk) => readChunk(this.#books.table, job, chunk));
    const bySeq = new Map(read.flat().map((item) => [item.record.seq, item]));
    // Somebody may have named an item twice.
    const picked = new Set<ChunkItem>();
    let looked = 0;
    for (const seq of places) {
      if (picked.size >= most) break;
      looked += 1;
      const item = seq === null ? undefined : bySeq.get(seq);
      const isWanted =
        item?.record.status === 'failed' && (filter.errorType ?? item.last?.failure?.type) === item.last?.failure?.type;
      if (item !== undefined && isWanted) picked.add(item);
    }
    const isEnd = first + looked >= filter.itemIds.length;
    return { entries: [...picked], next: isEnd ? null : String(first + looked - 1) };
  }

  async #actions(job: JobRows, record: JobRecord, items: readonly ChunkItem[]): Promise<readonly Action[]> {
    const { clock } = this.#books;
    const { inc, epoch } = job;
    const failures = items.flatMap(({ record: { itemId }, last }): CountedFailure[] =>
      last?.failure === undefined ? [] : [{ itemId, failure: last.failure, isOther: last.isOther ?? false }],
    );
    const set = hotSetOf(job, record);
    const { failed: _, ...numbers } = set.numbers ?? {};
    // Counted down, not set: others may fail at this moment.
    const add = { failed: record.counts.failed - job.record.counts.failed, pooled: items.length };
    const byChunk = Map.groupBy(items, (item) => chunkOf(item.record.seq));
    return [
      { put: metaRow({ ...job, record, epoch: epoch + 1 }), when: sameEpoch(job) },
      hotAction(record.jobId, add, { ...set, numbers: { ...numbers, epoch: epoch + 1 } }, { inc, epoch }),
      ...directoryActions(inc, record.jobId, job.record, record),
      ...[...byChunk].flatMap(([chunk, ofChunk]): Action[] => [
        {
          put: reopenMark(
            inc,
            chunk,
            clock.id(),
            ofChunk.map(({ record: { seq }, last }) => ({ seq, attempt: last?.attempt ?? 0 })),
          ),
        },
        {
          put: poolRow(
            inc,
            chunk,
            false,
            clock.id(),
            ofChunk.map(({ record: { seq, deliveries } }) => ({ seq, deliveries, strikes: 0 })),
          ),
        },
      ]),
      ...(await this.#groups.uncounting(inc, failures)),
    ];
  }
}

/** Each may be the only one of its chunk and of its group: three actions of a hundred. */
const MOST_ITEMS = 30;
const CHUNKS_AT_ONCE = 8;
