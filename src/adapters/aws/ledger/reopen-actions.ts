import type { JobRecord } from '../../../domain/job.ts';
import type { Action } from '../dynamo/table.ts';
import type { Books } from './books.ts';
import type { ChunkItem } from './chunk.ts';
import { directoryActions } from './directories.ts';
import type { FailureGroups } from './failure-groups.ts';
import { hotAction, hotSetOf } from './hot-change.ts';
import { sameEpoch } from './job-book.ts';
import { type JobRows, metaRow } from './job-rows.ts';
import { chunkOf } from './keys.ts';
import { type ReopenMark, reopenMarkAction, reopenMarkKey, reopenMarkOf } from './outcome-log.ts';
import { poolRow } from './pool.ts';
import { failureOf } from './transaction-room.ts';

/**
 * Makes failed items pending again: marks them as reopened in their chunk, and puts them where the next dispatch finds
 * them. `record` is the resulting job. `moved`: one of them was reopened since it was read.
 */
export async function reopenActions(
  books: Books,
  groups: FailureGroups,
  job: JobRows,
  record: JobRecord,
  items: readonly ChunkItem[],
): Promise<readonly Action[] | 'moved'> {
  const marks = await readMarks(books, job, items);
  if (items.some((item) => isMarked(item, marks))) return 'moved';
  const { inc, epoch } = job;
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
      reopenMarkAction(
        reopenMarkKey(inc, chunk),
        marks.get(chunk) ?? reopenMarkOf(null),
        ofChunk.map(({ record: { seq }, last }) => ({ seq, attempt: last?.attempt ?? 0 })),
      ),
      {
        put: poolRow(
          inc,
          chunk,
          'returned',
          books.clock.id(),
          ofChunk.map(({ record: { seq, deliveries } }) => ({ seq, deliveries, strikes: 0 })),
        ),
      },
    ]),
    ...(await groups.uncounting(inc, items.flatMap(failureOf))),
  ];
}

/** The mark that its items were reopened, and those items in the pool. */
export const REOPEN_ACTIONS_PER_CHUNK = 2;

/** Marks of the chunks that these items are in. */
async function readMarks(
  books: Books,
  job: JobRows,
  items: readonly ChunkItem[],
): Promise<ReadonlyMap<number, ReopenMark>> {
  const chunks = [...new Set(items.map(({ record }) => chunkOf(record.seq)))];
  const rows = await books.table.getAll(chunks.map((chunk) => reopenMarkKey(job.inc, chunk)));
  return new Map(chunks.map((chunk, index) => [chunk, reopenMarkOf(rows[index] ?? null)]));
}

/** It was reopened since it was read. */
function isMarked({ record: { seq }, last }: ChunkItem, marks: ReadonlyMap<number, ReopenMark>): boolean {
  const upTo = marks.get(chunkOf(seq))?.items.get(seq);
  return upTo !== undefined && upTo >= (last?.attempt ?? 0);
}
