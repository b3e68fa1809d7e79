import { isControlBatch } from '../../../domain/job-controls.ts';
import { whenClaimed } from '../../../domain/job-progress.ts';
import { mustRunAlone } from '../../../domain/strikes.ts';
import { claimControl } from '../../../ports/claim-control.ts';
import type { ClaimAnswer, Lease } from '../../../ports/ledger.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import type { BatchRef } from '../../../ports/work-queue.ts';
import { atOnce } from '../at-once.ts';
import { num, type Row, text } from '../dynamo/attributes.ts';
import { setting } from '../dynamo/expressions.ts';
import type { Action } from '../dynamo/table.ts';
import { type Batch, batchOfRow, deliveriesOf, dueKey, type Hold, openItems, refOf, unchanged } from './batch-row.ts';
import type { Books } from './books.ts';
import { readInputs } from './chunk.ts';
import { deltaAction, hotDelta } from './hot-change.ts';
import type { JobRows } from './job-rows.ts';
import { batchIdOf, batchIdOfToken, batchKey, parseBatchId, tokenOf } from './keys.ts';

/** How batches are given to workers: those of one job in one transaction, because each changes the same counters. */
export async function claimBatches(
  books: Books,
  refs: readonly BatchRef[],
  worker: string,
  until: number,
  now: number,
): Promise<readonly ClaimAnswer[]> {
  const answers = new Map<string, ClaimAnswer>();
  const troubles: StorageTrouble[] = [];
  for (const ref of refs.filter(({ batchId }) => isControlBatch(batchId))) {
    answers.set(ref.batchId, claimControl((await books.readJob(ref.jobId))?.record, ref, until));
  }
  const ofItems = refs.filter(({ batchId }) => !answers.has(batchId));
  const byJob = Map.groupBy(ofItems, ({ jobId }) => jobId);
  await atOnce(JOBS_AT_ONCE, [...byJob], async ([jobId, ofJob]) => {
    const ids = [...new Set(ofJob.map(({ batchId }) => batchId))];
    for (let at = 0; at < ids.length; at += MOST_AT_ONCE) {
      const some = ids.slice(at, at + MOST_AT_ONCE);
      try {
        const claimed = await claimOfJob(books, jobId, some, worker, until, now);
        for (const id of some) answers.set(id, claimed.get(id) ?? 'gone');
      } catch (error) {
        if (!(error instanceof StorageTrouble)) throw error;
        troubles.push(error);
      }
    }
  });
  // Claimed batches must be returned: no other worker would process them. The others come again with their message.
  const [trouble] = troubles;
  if (trouble !== undefined && answers.size === 0) throw trouble;
  return refs.map(({ batchId }) => answers.get(batchId) ?? 'held');
}

function claimOfJob(
  books: Books,
  jobId: string,
  batchIds: readonly string[],
  worker: string,
  until: number,
  now: number,
): Promise<ReadonlyMap<string, ClaimAnswer>> {
  return books.inTurn(jobId, () => books.untilDone(() => claimSome(books, jobId, batchIds, worker, until, now)));
}

const JOBS_AT_ONCE = 8;
const MOST_AT_ONCE = 40;

async function claimSome(
  books: Books,
  jobId: string,
  batchIds: readonly string[],
  worker: string,
  until: number,
  now: number,
): Promise<ReadonlyMap<string, ClaimAnswer> | undefined> {
  const [job, batches] = await Promise.all([books.readJob(jobId), readBatches(books, batchIds)]);
  // A batch of a deleted job, or of its predecessor; or the job is cancelled, and its waiting batches with it.
  const present = batches.filter((batch) => batch.name.inc === job?.inc && (batch.hold !== null || !job.isShut));
  const free = present.filter(({ hold }) => hold === null);
  const held = present.map((batch): Batch => {
    if (batch.hold !== null) return batch;
    const token = tokenOf(batchIdOf(batch.name), books.clock.id());
    return { ...batch, hold: { token, worker, claimedAt: now, until, begun: null }, version: batch.version + 1 };
  });
  if (job !== null && free.length > 0) {
    const delta = hotDelta((record) => free.reduce(whenClaimed, record));
    const answer = await books.table.transact([
      ...free.map((batch) => claimAction(batch, held.find(({ name }) => name.id === batch.name.id)?.hold ?? null)),
      deltaAction(jobId, delta, { inc: job.inc, shut: false }),
    ]);
    if (answer.kind === 'refused') return undefined;
    books.tell([{ kind: 'claimed', jobId, batches: free.length }]);
  }
  const leases = await atOnce(JOBS_AT_ONCE, held, async (batch) => {
    const answer =
      job === null || batch.hold?.worker !== worker ? 'held' : await leaseOf(books, job, batch, batch.hold);
    return [batchIdOf(batch.name), answer] as const;
  });
  return new Map<string, ClaimAnswer>(leases);
}

async function readBatches(books: Books, batchIds: readonly string[]): Promise<readonly Batch[]> {
  const keys = batchIds
    .map(parseBatchId)
    .filter((name) => name !== null)
    .map(batchKey);
  const rows = await books.table.getAll(keys);
  return rows.filter((row) => row !== null).map(batchOfRow);
}

function claimAction(batch: Batch, hold: Hold | null): Action {
  if (hold === null) throw new Error('a claim without a lease');
  return {
    update: batchKey(batch.name),
    ...setting({
      token: text(hold.token),
      worker: text(hold.worker),
      claimedAt: num(hold.claimedAt),
      until: num(hold.until),
      dueKey: text(dueKey('leased', batch.name.id)),
      dueAt: num(hold.until),
      version: num(batch.version + 1),
    }),
    when: unchanged(batch),
  };
}

async function leaseOf(books: Books, job: JobRows, batch: Batch, hold: Hold): Promise<Lease> {
  const unsettled = openItems(batch, job.isShut);
  const seqs = unsettled.map(({ seq }) => seq);
  const inputs = await readInputs(books.table, batch.name.inc, seqs);
  const items = unsettled.map((item) => {
    const input = inputs.get(item.seq);
    if (input === undefined) throw new Error(`item ${item.seq} of the job ${batch.jobId} has no input`);
    return { seq: item.seq, ...input, attempt: deliveriesOf(batch, item) };
  });
  books.names.remember(batch.name, items);
  return {
    token: hold.token,
    ref: refOf(batch),
    until: hold.until,
    suspect: batch.suspect,
    alone: mustRunAlone(unsettled),
    jobCreatedAt: job.record.createdAt,
    policyRevision: job.record.policyRevision,
    items,
  };
}

/** The batch that the token leases; null if the lease is lost. */
async function heldBatch(books: Books, token: string): Promise<(Batch & { readonly hold: Hold }) | null> {
  const name = parseBatchId(batchIdOfToken(token));
  const row: Row | null = name === null ? null : await books.table.get(batchKey(name));
  const batch = row === null ? null : batchOfRow(row);
  return batch?.hold?.token === token ? { ...batch, hold: batch.hold } : null;
}

/** Marks which item a worker is about to begin. */
export async function beginItem(books: Books, token: string, seq: number): Promise<boolean> {
  return await books.untilDone(async () => {
    const batch = await heldBatch(books, token);
    if (batch === null) return false;
    const job = await books.readJob(batch.jobId);
    if (!openItems(batch, job?.isShut ?? false).some((item) => item.seq === seq)) return false;
    const begun = setting({ begun: num(seq), version: num(batch.version + 1) });
    const isMarked = await books.table.update(batchKey(batch.name), begun, unchanged(batch));
    return isMarked ? true : undefined;
  });
}

/**
 * Never shortens a lease. False if it is lost. The index of what is due is left unchanged, which saves two thirds of the
 * cost of a renewal: a reader that finds the batch there looks at the row, and corrects the index.
 */
export async function renewLease(books: Books, token: string, until: number): Promise<boolean> {
  const name = parseBatchId(batchIdOfToken(token));
  if (name === null) return false;
  const isShorter = { expression: '#token = :ifToken AND #until < :until', values: { ':ifToken': text(token) } };
  const isLonger = await books.table.update(batchKey(name), setting({ until: num(until) }), isShorter);
  return isLonger || (await heldBatch(books, token)) !== null;
}
