import { endedSince, isReopenable } from '../../../domain/attempts.ts';
import { isCountedIn } from '../../../domain/failure-group.ts';
import { isRefusal, whenReopened } from '../../../domain/job.ts';
import type { PageRequest, ReopenAnswer, RetryFilter } from '../../../ports/ledger.ts';
import { atOnce } from '../at-once.ts';
import type { Books } from './books.ts';
import { type ChunkItem, readChunk } from './chunk.ts';
import type { FailureGroups } from './failure-groups.ts';
import type { ItemPage, ItemPages } from './item-pages.ts';
import type { JobRows } from './job-rows.ts';
import { chunkOf } from './keys.ts';
import { REOPEN_ACTIONS_PER_CHUNK, reopenActions } from './reopen-actions.ts';
import { TransactionRoom } from './transaction-room.ts';

type Locate = (job: JobRows, itemIds: readonly string[]) => Promise<readonly (number | null)[] | 'moved'>;

/** Reopens failed items: marks them as reopened in their chunk, and puts them where the next dispatch finds them. */
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
      const entries = found.entries.filter(({ last }) => endedSince(last ?? undefined, filter.endedSince));
      const items = entries.length;
      const next = whenReopened(job.record, items);
      if (isRefusal(next)) return next;
      if (filter.preview) return { kind: 'reopened', items, next: found.next };

      const record = { ...(items > 0 ? next : job.record), openUntil };
      const actions = await reopenActions(this.#books, this.#groups, job, record, entries);
      if (actions === 'moved') return undefined;
      const answer = await this.#books.table.transact(actions);
      if (answer.kind === 'refused') return undefined;
      this.#books.tellJob(record, 'retry');
      return { kind: 'reopened', items, next: found.next };
    });
  }

  async #find(job: JobRows, filter: RetryFilter, { after, limit }: PageRequest): Promise<ItemPage | 'moved'> {
    const most = Math.min(limit, MOST_ITEMS);
    if (filter.itemIds !== null) return await this.#findNamed(job, filter.itemIds, filter, after, most);

    const failed = { status: 'failed', errorType: filter.errorType } as const;
    const page = await this.#pages.page(job, failed, { after, limit: most });
    const wanted = page.entries.filter((item) => isWanted(item, filter));
    const room = new TransactionRoom(REOPEN_ACTIONS_PER_CHUNK);
    const end = wanted.findIndex((item) => !room.takes(item));
    if (end === -1) return { entries: wanted, next: page.next };
    const entries = wanted.slice(0, end);
    return { entries, next: String(entries.at(-1)?.record.seq) };
  }

  /** The cursor is the position in the list. A few at a time: ids from all over the job quickly fill a transaction. */
  async #findNamed(
    job: JobRows,
    itemIds: readonly string[],
    filter: RetryFilter,
    after: string | null,
    most: number,
  ): Promise<ItemPage | 'moved'> {
    const first = after === null ? 0 : Number(after) + 1;
    const end = Math.min(first + MOST_ITEMS, itemIds.length);
    const room = new TransactionRoom(REOPEN_ACTIONS_PER_CHUNK);
    const known = new Map<number, readonly ChunkItem[]>();
    // The caller may have named an item twice.
    const picked = new Set<ChunkItem>();
    for (let at = first; at < end; at += NAMES_AT_ONCE) {
      const places = await this.#locate(job, itemIds.slice(at, Math.min(at + NAMES_AT_ONCE, end)));
      if (places === 'moved') return 'moved';
      await this.#readChunks(job, places, known);
      for (const [index, seq] of places.entries()) {
        const item = seq === null ? undefined : known.get(chunkOf(seq))?.find(({ record }) => record.seq === seq);
        if (item === undefined || picked.has(item) || !isWanted(item, filter)) continue;
        if (picked.size >= most || !room.takes(item)) return { entries: [...picked], next: String(at + index - 1) };
        picked.add(item);
      }
    }
    return { entries: [...picked], next: end < itemIds.length ? String(end - 1) : null };
  }

  async #readChunks(
    job: JobRows,
    places: readonly (number | null)[],
    known: Map<number, readonly ChunkItem[]>,
  ): Promise<void> {
    const wanted = new Set(places.filter((seq) => seq !== null).map(chunkOf));
    const unread = [...wanted].filter((chunk) => !known.has(chunk));
    await atOnce(CHUNKS_AT_ONCE, unread, async (chunk) => {
      known.set(chunk, await readChunk(this.#books.table, job, chunk));
    });
  }
}

function isWanted({ record: { status }, last }: ChunkItem, { errorType, groupKeys }: RetryFilter): boolean {
  const { failure, isOther = false } = last ?? {};
  if (!isReopenable(status) || (errorType !== null && failure?.type !== errorType)) return false;
  return groupKeys === null || (failure !== undefined && isCountedIn(failure, isOther, groupKeys));
}

const MOST_ITEMS = 1000;
const NAMES_AT_ONCE = 100;
const CHUNKS_AT_ONCE = 8;
