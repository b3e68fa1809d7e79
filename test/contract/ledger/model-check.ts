import assert from 'node:assert/strict';
import {
  ITEM_STATUSES,
  type ItemEvent,
  type ItemRecord,
  type ItemStatus,
  MAX_HISTORY,
  nextStatus,
} from '../../../src/domain/item.ts';
import { isActive } from '../../../src/domain/job.ts';
import type { Ledger } from '../../../src/ports/ledger.ts';
import { allItems, allPages, byStatus, jobOf, recount } from './hands.ts';
import type { Model, ModelItem, ModelJob } from './model.ts';

/** Compares what a ledger reports with the model. `events` may have happened to items since it was last compared. */
export async function checkModel(model: Model, ledger: Ledger, events: readonly ItemEvent[]): Promise<void> {
  for (const job of model.jobs) {
    await checkItems(model, job, ledger, events);
    await checkJob(model, job, ledger);
    await checkGroups(job, ledger);
  }
  const all = await allPages((after) => ledger.jobs({ status: null, page: { after, limit: 1 } }));
  const active = await allPages((after) => ledger.activeJobs({ after, limit: 1 }));
  assert.deepEqual(active, all.filter(isActive).reverse(), 'active jobs');
}

async function checkItems(model: Model, job: ModelJob, ledger: Ledger, events: readonly ItemEvent[]): Promise<void> {
  const items = await allItems(ledger, job.jobId, {}, 7);
  assert.deepEqual(
    items.map((item) => item.itemId),
    [...job.items.keys()],
    'items in order',
  );
  const batches = model.batchesOf(job);
  const inHands = new Set(batches.map((batch) => batch.hold?.left[0]));
  for (const item of items) {
    const known = job.items.get(item.itemId);
    assert.ok(known);
    assert.deepEqual(facts(item), expectedFacts(known), item.itemId);
    assert.deepEqual(item.input, known.input, `input of ${item.itemId}`);
    assert.equal(item.group, known.group, `group of ${item.itemId}`);
    assert.ok(isPossible(item.status, known, inHands.has(item.itemId)), `${item.itemId} is ${item.status}`);
    const before = known.lastStatus ?? 'pending';
    const isInTable = reachable(before, events).has(item.status);
    assert.ok(isInTable, `${item.itemId} was ${before} and is ${item.status}, and no ${events.join(', ')} does that`);
    known.lastStatus = item.status;
  }
  const { counts } = await jobOf(ledger, job.jobId);
  assert.deepEqual(byStatus(counts), recount(items), 'counts and a recount');
  assert.equal(counts.queued, batches.filter((batch) => batch.hold === null).length, 'queued batches');
  assert.equal(counts.inProgress, batches.filter((batch) => batch.hold !== null).length, 'batches in progress');
  for (const status of ITEM_STATUSES) {
    const listed = await allItems(ledger, job.jobId, { status }, 3);
    assert.deepEqual(
      listed,
      items.filter((item) => item.status === status),
      `items that are ${status}`,
    );
  }
}

/** Where these events lead by the table, in as many steps as it takes: one call may settle a whole batch. */
function reachable(status: ItemStatus, events: readonly ItemEvent[]): ReadonlySet<ItemStatus> {
  const reached = new Set([status]);
  for (const from of reached) {
    for (const event of events) {
      const to = nextStatus(from, event);
      if (to !== null) reached.add(to);
    }
  }
  return reached;
}

/** The model does not know what a queued batch holds: there an item is pending for it. */
function isPossible(status: ItemStatus, known: ModelItem, isInHands: boolean): boolean {
  if (known.end !== null) return status === known.end;
  return isInHands ? status === 'in_progress' : status === 'pending' || status === 'queued';
}

function facts({ strikes, deliveries, attempts }: ItemRecord) {
  const ended = attempts.map(({ attempt, failure }) => {
    return { attempt, type: failure?.type ?? null, ...(failure?.step && { step: failure.step.path }) };
  });
  return { strikes, deliveries, ended };
}

function expectedFacts({ strikes, deliveries, ended }: ModelItem) {
  return { strikes, deliveries, ended: ended.slice(-MAX_HISTORY) };
}

async function checkJob(model: Model, job: ModelJob, ledger: Ledger): Promise<void> {
  const record = await jobOf(ledger, job.jobId);
  const { status, policy, policyRevision, tally, fenced, round } = job;
  assert.partialDeepStrictEqual(record, { status, policy, policyRevision, tally, fenced, round });
  assert.equal(record.circuit.state, job.isTripped ? 'open' : 'closed');
  if (status !== 'completed') assert.equal(record.openUntil, job.openUntil, 'open until');

  const batches = model.batchesOf(job);
  const inHands = batches.reduce((sum, batch) => sum + (batch.hold?.left.length ?? 0), 0);
  const queued = batches.filter((batch) => batch.hold === null);
  const atMost = queued.reduce((sum, batch) => sum + batch.perBatch, inHands);
  const { itemsInFlight } = record;
  assert.ok(itemsInFlight >= inHands + queued.length && itemsInFlight <= atMost, `${itemsInFlight} items in flight`);
}

async function checkGroups(job: ModelJob, ledger: Ledger): Promise<void> {
  const counted: Record<string, number> = {};
  for (const group of await ledger.failureGroups(job.jobId, 1000)) {
    const name = `${group.type} at ${group.step?.path}`;
    counted[name] = (counted[name] ?? 0) + group.count;
    for (const { itemId } of group.examples) {
      const known = job.items.get(itemId);
      assert.equal(known?.end === 'failed' && known.ended.at(-1)?.type, group.type, `example ${itemId}`);
    }
  }
  const expected: Record<string, number> = {};
  for (const item of job.items.values()) {
    const last = item.end === 'failed' ? item.ended.at(-1) : undefined;
    const name = `${last?.type} at ${last?.step}`;
    if (last !== undefined) expected[name] = (expected[name] ?? 0) + 1;
  }
  assert.deepEqual(counted, expected, 'failures by type and step');
}
