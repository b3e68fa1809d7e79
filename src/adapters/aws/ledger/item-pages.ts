import type { ItemStatus } from '../../../domain/item.ts';
import type { ItemFilter, PageRequest } from '../../../ports/ledger.ts';
import { atOnce } from '../at-once.ts';
import { DUE_SHARDS, dueShard } from './batch-row.ts';
import type { Books } from './books.ts';
import { type ChunkItem, readChunk } from './chunk.ts';
import type { JobRows } from './job-rows.ts';
import { batchNameOf, CHUNK_ITEMS, chunkOf } from './keys.ts';
import { type Mark, markedChunks } from './marks.ts';

export interface ItemPage {
  readonly entries: readonly ChunkItem[];
  readonly next: string | null;
}

/**
 * Pages of items, in the order in which they were added. The cursor is the place of the last item that was examined. No
 * page examines more than ten chunks; if few items match, only chunks that have some.
 */
export class ItemPages {
  readonly #books: Books;

  constructor(books: Books) {
    this.#books = books;
  }

  async page(job: JobRows, filter: ItemFilter, { after, limit }: PageRequest): Promise<ItemPage> {
    const first = after === null ? 0 : Number(after) + 1;
    const { chunks, isEnd } = await this.#chunksFrom(job, filter, chunkOf(first), limit);
    const entries: ChunkItem[] = [];
    let bytes = 0;
    // A few at once: those of a small page are mostly in the first.
    for (let at = 0; at < chunks.length; at += CHUNKS_AT_ONCE) {
      const some = chunks.slice(at, at + CHUNKS_AT_ONCE);
      const read = await atOnce(CHUNKS_AT_ONCE, some, (chunk) => readChunk(this.#books.table, job, chunk));
      for (const item of read.flat()) {
        if (item.record.seq < first || !fits(item, filter)) continue;
        const size = sizeOf(item);
        if (entries.length >= limit || (entries.length > 0 && bytes + size > MAX_PAGE_BYTES)) {
          return { entries, next: String(entries.at(-1)?.record.seq) };
        }
        entries.push(item);
        bytes += size;
      }
    }
    const last = chunks.at(-1);
    return { entries, next: isEnd || last === undefined ? null : String((last + 1) * CHUNK_ITEMS - 1) };
  }

  /** Where to look: every chunk, or those that may have matching items. */
  async #chunksFrom(job: JobRows, { status, errorType }: ItemFilter, first: number, limit: number) {
    const { table } = this.#books;
    const mark = markOf(status, errorType);
    if (mark !== null) {
      const chunks = await markedChunks(table, job.inc, mark, first, MOST_CHUNKS);
      return { chunks, isEnd: chunks.length < MOST_CHUNKS };
    }
    if (status === 'queued' || status === 'in_progress') {
      const flying = await this.#flyingChunks(job);
      const chunks = flying.filter((chunk) => chunk >= first);
      return { chunks: chunks.slice(0, MOST_CHUNKS), isEnd: chunks.length <= MOST_CHUNKS };
    }
    const end = Math.ceil(job.record.counts.total / CHUNK_ITEMS);
    const wanted = status === null ? Math.ceil(limit / CHUNK_ITEMS) + 1 : MOST_CHUNKS;
    const until = Math.min(end, first + Math.min(wanted, MOST_CHUNKS));
    const chunks = Array.from({ length: Math.max(0, until - first) }, (_, index) => first + index);
    return { chunks, isEnd: until >= end };
  }

  /** Batches in flight are few, whatever the size of the job. */
  async #flyingChunks({ inc }: JobRows): Promise<readonly number[]> {
    const chunks = new Set<number>();
    for (const kind of ['queued', 'leased'] as const) {
      for (let shard = 0; shard < DUE_SHARDS; shard += 1) {
        for (const { key } of await this.#books.table.due(
          dueShard(kind, shard),
          Number.MAX_SAFE_INTEGER,
          MOST_FLYING,
        )) {
          const name = batchNameOf(key);
          if (name.inc === inc) chunks.add(name.chunk);
        }
      }
    }
    return [...chunks].sort((a, b) => a - b);
  }
}

const MOST_CHUNKS = 10;
const CHUNKS_AT_ONCE = 4;
/** As many as may be in flight: a policy allows no more workers. */
const MOST_FLYING = 100_000;
/** The caller has the whole page in memory. */
const MAX_PAGE_BYTES = 2 * 2 ** 20;

function markOf(status: ItemStatus | null, errorType: ItemFilter['errorType']): Mark | null {
  if (errorType !== null) return errorType;
  return status === 'failed' || status === 'skipped' ? status : null;
}

function fits({ record: { status }, last }: ChunkItem, wanted: ItemFilter): boolean {
  if (wanted.status !== null && status !== wanted.status) return false;
  return wanted.errorType === null || (status === 'failed' && last?.failure?.type === wanted.errorType);
}

function sizeOf({ record: { input, artifacts, attempts } }: ChunkItem): number {
  return JSON.stringify(input).length + 200 * artifacts.length + 400 * attempts.length;
}
