import type { Allowance } from '../../../domain/allowance.ts';
import { type DispatchPlan, planDispatch } from '../../../domain/dispatch-plan.ts';
import { whenDispatched } from '../../../domain/job-progress.ts';
import type { Dispatched } from '../../../ports/ledger.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import type { BatchRef } from '../../../ports/work-queue.ts';
import type { Action } from '../dynamo/table.ts';
import { type Batch, batchRow, type FlyingItem, refOf } from './batch-row.ts';
import type { Books } from './books.ts';
import { directoryActions } from './directories.ts';
import { hotAction } from './hot-change.ts';
import { sameEpoch } from './job-book.ts';
import { type JobRows, metaRow } from './job-rows.ts';
import { CHUNK_ITEMS, chunkOf } from './keys.ts';
import { type PoolEntry, readPool, takenAction } from './pool.ts';

/**
 * How work goes out: a transaction of up to ninety batches, guarded by the number of dispatches so far, so that two who
 * dispatch at once cannot both count on the same slots. What settles meanwhile only makes room.
 */
export async function dispatchJob(
  books: Books,
  jobId: string,
  itemsPerBatch: number,
  now: number,
): Promise<Dispatched | null> {
  const refs: BatchRef[] = [];
  let first: DispatchPlan | null = null;
  for (;;) {
    const step = await books
      .untilDone(() => dispatchStep(books, jobId, itemsPerBatch, now))
      // What went out already must be sent: nobody else knows of it.
      .catch((error: unknown) => {
        if (first === null || !(error instanceof StorageTrouble)) throw error;
        return null;
      });
    if (step === null) return first === null ? null : { refs, plan: first };
    first ??= step.plan;
    refs.push(...step.refs);
    // A transaction holds only so many: the plan may allow more.
    if (step.plan.kind !== 'go' || step.refs.length < FEWEST_OF_A_FULL_STEP) return { refs, plan: first };
  }
}

/** Of the hundred actions of a transaction; where items come back, each entry of the pool is one, too. */
const MOST_BATCHES = 90;
const MOST_WITH_POOL = 40;
const FEWEST_OF_A_FULL_STEP = Math.min(MOST_BATCHES, MOST_WITH_POOL);

async function dispatchStep(
  books: Books,
  jobId: string,
  itemsPerBatch: number,
  now: number,
): Promise<Dispatched | null | undefined> {
  const job = await books.readJob(jobId);
  if (job === null) return null;
  const plan = planDispatch(job.record, itemsPerBatch, now);
  if (plan.kind !== 'go') return { refs: [], plan };
  const made = await makeBatches(books, job, plan.allowance, now);
  if (made.batches.length === 0) return { refs: [], plan };

  const items = made.batches.reduce((sum, batch) => sum + batch.unsettled.length, 0);
  const { from, spacingMs } = plan.allowance.pace;
  const went = { batches: made.batches.length, items, readyAt: from + items * spacingMs, throttle: plan.throttle };
  const next = whenDispatched(job.record, went, now);
  const answer = await books.table.transact([
    ...made.batches.map((batch): Action => ({ put: batchRow(batch) })),
    ...made.taken,
    ...jobActions(job, { ...job, record: next, cursor: made.cursor }, made.batches.length, items, made.pooled),
  ]);
  if (answer.kind === 'refused') return undefined;
  books.tell([{ kind: 'dispatched', jobId, batches: made.batches.length, items }]);
  return { refs: made.batches.map(refOf), plan };
}

function jobActions(before: JobRows, after: JobRows, batches: number, items: number, pooled: number): Action[] {
  const { inc, epoch, dispatches } = before;
  const { record } = after;
  // The first dispatch changes the job's state, every other only what is hot.
  const isNewState = record.status !== before.record.status || record.startedAt !== before.record.startedAt;
  const nextEpoch = isNewState ? epoch + 1 : epoch;
  const numbers = { cursor: after.cursor, readyAt: record.readyAt, dispatches: dispatches + 1, epoch: nextEpoch };
  const hot = hotAction(
    record.jobId,
    { queued: batches, itemsInFlight: items, pooled: -pooled },
    { numbers, throttle: record.throttle },
    { inc, epoch, dispatches },
  );
  if (!isNewState) return [hot];
  return [
    hot,
    { put: metaRow({ ...after, epoch: nextEpoch }), when: sameEpoch(before) },
    ...directoryActions(inc, record.jobId, before.record, record),
  ];
}

interface Made {
  readonly batches: readonly Batch[];
  /** What of the pool they were made of … */
  readonly taken: readonly Action[];
  /** … and how many items that were. */
  readonly pooled: number;
  readonly cursor: number;
}

/** What came back goes first, suspects among themselves. A batch stays within its chunk. */
async function makeBatches(books: Books, job: JobRows, allowance: Allowance, now: number): Promise<Made> {
  const { itemsPerBatch } = allowance;
  const max = Math.min(allowance.batches, job.pooled > 0 ? MOST_WITH_POOL : MOST_BATCHES);
  const perBatch = Math.min(itemsPerBatch, CHUNK_ITEMS);
  const entries = job.pooled > 0 ? await readPool(books.table, job.inc, max * perBatch) : [];
  const groups = new Groups(max, perBatch);
  const taken: Action[] = [];
  let pooled = 0;
  for (const entry of entries) {
    const left = groups.fill(entry);
    if (left.length === entry.items.length) break;
    pooled += entry.items.length - left.length;
    taken.push(takenAction(entry, left));
  }
  let { cursor } = job;
  const { total } = job.record.counts;
  while (groups.size < max && cursor < total) {
    const end = Math.min(cursor + perBatch, (chunkOf(cursor) + 1) * CHUNK_ITEMS, total);
    groups.add({ chunk: chunkOf(cursor), suspect: false, items: freshItems(cursor, end) });
    cursor = end;
  }
  const batches = groups.all.map(({ chunk, suspect, items }): Batch => {
    const { jobId, lane, scraperVersion } = job.record;
    const name = { inc: job.inc, chunk, id: books.clock.id() };
    return { name, jobId, lane, suspect, queuedAt: now, scraperVersion, unsettled: items, hold: null, version: 1 };
  });
  return { batches, taken, pooled, cursor };
}

function freshItems(from: number, end: number): FlyingItem[] {
  return Array.from({ length: end - from }, (_, index) => ({ seq: from + index, deliveries: 0, strikes: 0 }));
}

interface Group {
  readonly chunk: number;
  readonly suspect: boolean;
  readonly items: FlyingItem[];
}

/** Batches in the making. */
class Groups {
  readonly all: Group[] = [];
  readonly #max: number;
  readonly #perBatch: number;

  constructor(max: number, perBatch: number) {
    this.#max = max;
    this.#perBatch = perBatch;
  }

  get size(): number {
    return this.all.length;
  }

  add(group: Group): void {
    this.all.push(group);
  }

  /** Takes of the entry what there is room for: into the last batch if it is of the same chunk and kind, then into new ones. */
  fill({ chunk, suspect, items }: PoolEntry): readonly FlyingItem[] {
    let left = items;
    while (left.length > 0) {
      const last = this.all.at(-1);
      const isAlike = last !== undefined && last.chunk === chunk && last.suspect === suspect;
      if (!isAlike || last.items.length >= this.#perBatch) {
        if (this.all.length >= this.#max) return left;
        this.all.push({ chunk, suspect, items: [] });
        continue;
      }
      const room = this.#perBatch - last.items.length;
      last.items.push(...left.slice(0, room));
      left = left.slice(room);
    }
    return left;
  }
}
