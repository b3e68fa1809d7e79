import type { Allowance } from '../../../domain/allowance.ts';
import { type BatchLimits, type PendingRun, planBatches, splitByGroup } from '../../../domain/batching.ts';
import { type DispatchPlan, planDispatch } from '../../../domain/dispatch-plan.ts';
import { whenDispatched } from '../../../domain/job-progress.ts';
import { holdsFrom } from '../../../domain/job-wait.ts';
import type { Dispatched } from '../../../ports/ledger.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import type { BatchRef } from '../../../ports/work-queue.ts';
import type { Action } from '../dynamo/table.ts';
import { type Batch, batchRow, type FlyingItem, refOf } from './batch-row.ts';
import type { Books } from './books.ts';
import { directoryActions } from './directories.ts';
import { hotAction, sameWait, waitSet } from './hot-change.ts';
import { CHUNKS_AT_ONCE, KnownGroups } from './item-groups.ts';
import { sameEpoch } from './job-book.ts';
import { type JobRows, metaRow } from './job-rows.ts';
import { CHUNK_ITEMS, chunkOf } from './keys.ts';
import { type PoolEntry, readPool, takenAction } from './pool.ts';

/**
 * How work goes out: a transaction of up to ninety batches, guarded by the number of dispatches so far, so that two
 * concurrent dispatches cannot both use the same slots. Settles in between only make room.
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
      // What was dispatched must be sent: no other process knows of it.
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

/** A transaction has a hundred actions; each pool entry of returned items is one as well. */
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
  const went = { batches: made.batches.length, items, throttle: plan.throttle };
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
  // The first dispatch changes the job's state, every other one only the hot row.
  const isNewState = record.status !== before.record.status || record.startedAt !== before.record.startedAt;
  const nextEpoch = isNewState ? epoch + 1 : epoch;
  const numbers = { cursor: after.cursor, dispatches: dispatches + 1, epoch: nextEpoch };
  const wait = waitSet(before.record, record);
  const hot = hotAction(
    record.jobId,
    { queued: batches, itemsInFlight: items, pooled: -pooled },
    { numbers, throttle: record.throttle, ...wait },
    { inc, epoch, dispatches, ...sameWait(wait, before.record) },
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
  /** The pool actions for the items they were made of. */
  readonly taken: readonly Action[];
  /** The number of those items. */
  readonly pooled: number;
  readonly cursor: number;
}

/** What the domain plans batches from: items of one chunk, from a pool entry or never dispatched. */
interface Run extends PendingRun {
  /** Null for those that were never out. */
  readonly entry: PoolEntry | null;
  /** What is not in a batch yet. */
  left: readonly FlyingItem[];
}

/** A batch stays within its chunk. */
async function makeBatches(books: Books, job: JobRows, allowance: Allowance, now: number): Promise<Made> {
  const batches = Math.min(allowance.batches, job.pooled > 0 ? MOST_WITH_POOL : MOST_BATCHES);
  const itemsPerBatch = Math.min(allowance.itemsPerBatch, CHUNK_ITEMS);
  const limits = { batches, itemsPerBatch, items: Math.min(allowance.items, batches * itemsPerBatch) };
  const groups = new KnownGroups(books.table, job);
  const holds = { from: holdsFrom(job.record, now), now };
  const entries = job.pooled > 0 ? await readPool(books.table, job.inc, limits.items, holds) : [];
  await groups.learn(entries.map(({ chunk }) => chunk));
  const pool = entries.flatMap((entry) => pooledRuns(job, entry, groups));
  const fresh = await freshRuns(job, limits, groups);
  const planned = planBatches([...pool, ...fresh], limits);
  const { jobId, lane, scraperVersion } = job.record;
  const made = planned.map(({ suspect, lot, parts }): Batch => {
    const taken = parts.flatMap(({ run, count }) => takeFrom(run, count));
    const unsettled = inOrder(job, taken);
    const name = { inc: job.inc, chunk: lot, id: books.clock.id() };
    return { name, jobId, lane, suspect, queuedAt: now, scraperVersion, unsettled, hold: null, version: 1 };
  });
  const touched = entries
    .map((entry) => ({ entry, left: pool.filter((run) => run.entry === entry).flatMap((run) => run.left) }))
    .filter(({ entry, left }) => left.length < entry.items.length);
  return {
    batches: made,
    taken: touched.map(({ entry, left }) => takenAction(entry, left)),
    pooled: touched.reduce((sum, { entry, left }) => sum + entry.items.length - left.length, 0),
    cursor: job.cursor + fresh.reduce((sum, run) => sum + run.count - run.left.length, 0),
  };
}

function pooledRuns(job: JobRows, entry: PoolEntry, groups: KnownGroups): readonly Run[] {
  const { kind, chunk } = entry;
  return splitByGroup(inOrder(job, entry.items), ({ seq }) => groups.at(seq)).map(({ group, items }) => {
    return { kind, lot: chunk, group, count: items.length, entry, left: items };
  });
}

/** At most as many items that were never dispatched as one step takes, and so no more runs than batches, plus one. */
async function freshRuns(
  { cursor, record }: JobRows,
  { batches, items }: BatchLimits,
  groups: KnownGroups,
): Promise<readonly Run[]> {
  const runs: Run[] = [];
  const last = Math.min(record.counts.total, cursor + items);
  for (let from = cursor; from < last && runs.length <= batches; ) {
    const chunk = chunkOf(from);
    const end = Math.min((chunk + 1) * CHUNK_ITEMS, last);
    if (!groups.knows(chunk)) await groups.learn(chunksFrom(chunk, chunkOf(last - 1)));
    for (const { group, items: left } of splitByGroup(freshItems(from, end), ({ seq }) => groups.at(seq))) {
      runs.push({ kind: 'fresh', lot: chunk, group, count: left.length, entry: null, left });
    }
    from = end;
  }
  return runs;
}

/** So many that are read at once. */
function chunksFrom(first: number, last: number): readonly number[] {
  return Array.from({ length: Math.min(CHUNKS_AT_ONCE, last - first + 1) }, (_, index) => first + index);
}

/** If batches are made by group, returned items go out in the order in which they were added. */
function inOrder({ record }: JobRows, items: readonly FlyingItem[]): readonly FlyingItem[] {
  return record.batching === undefined ? items : items.toSorted((one, other) => one.seq - other.seq);
}

function takeFrom(run: Run, count: number): readonly FlyingItem[] {
  const taken = run.left.slice(0, count);
  run.left = run.left.slice(count);
  return taken;
}

function freshItems(from: number, end: number): FlyingItem[] {
  return Array.from({ length: end - from }, (_, index) => ({ seq: from + index, deliveries: 0, strikes: 0 }));
}
