import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Batching } from '../../../src/domain/batching.ts';
import { CLOSED, EMPTY_TALLY, judge, type Tally, tallyOutcome } from '../../../src/domain/breaker.ts';
import type { FailureType } from '../../../src/domain/failure.ts';
import { type ItemInput, type ItemStatus, MAX_HISTORY, type NewItem } from '../../../src/domain/item.ts';
import type { JobStatus } from '../../../src/domain/job-steps.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import { MAX_STRIKES } from '../../../src/domain/strikes.ts';
import type { AddAnswer, Lease, LeasedItem, SettleAnswer } from '../../../src/ports/ledger.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import { failedWith, NOW } from '../../support/builders.ts';

/**
 * What a ledger should know, kept item by item and without any thought of speed or storage: no counters, no cursor, no
 * lists of what came back. It does not know which items a queued batch holds before a worker claims it, because a
 * ledger does not report that either.
 */
export interface ModelItem {
  readonly itemId: string;
  group: string | undefined;
  input: ItemInput;
  end: 'success' | 'failed' | 'skipped' | 'cancelled' | null;
  strikes: number;
  deliveries: number;
  ended: { readonly attempt: number; readonly type: FailureType | null; readonly step?: string }[];
  /** As the ledger reported it last; null before it did. */
  lastStatus: ItemStatus | null;
}

export interface ModelJob {
  readonly jobId: string;
  readonly items: Map<string, ModelItem>;
  readonly batching: Batching | undefined;
  status: JobStatus;
  policy: Policy;
  policyRevision: number;
  openUntil: number;
  isTripped: boolean;
  tally: Tally;
  fenced: number;
  round: number;
}

export interface ModelBatch {
  readonly ref: BatchRef;
  readonly job: ModelJob;
  readonly queuedAt: number;
  readonly perBatch: number;
  hold: ModelHold | null;
}

export interface ModelHold {
  readonly lease: Lease;
  readonly worker: string;
  until: number;
  /** Ids of the unsettled items, in order. */
  left: string[];
  begun: string | null;
}

type Added = Omit<Extract<AddAnswer, { kind: 'added' }>, 'kind'>;

export class Model {
  readonly jobs: ModelJob[] = [];
  /** In flight now. */
  readonly batches = new Map<string, ModelBatch>();
  /** Everything that was ever handed out: most of it is stale. */
  readonly everyRef: BatchRef[] = [];
  readonly everyLease: Lease[] = [];
  now = NOW;
  #extractions = 0;

  addJob(jobId: string, items: readonly NewItem[], policy: Policy, batching?: Batching): void {
    const job: ModelJob = {
      jobId,
      items: new Map(),
      batching,
      status: 'pending',
      policy,
      policyRevision: 1,
      openUntil: 0,
      isTripped: false,
      tally: EMPTY_TALLY,
      fenced: 0,
      round: 1,
    };
    this.jobs.push(job);
    for (const item of items) addItem(job, item);
  }

  jobAt(which: number): ModelJob {
    const job = this.jobs[which % this.jobs.length];
    assert.ok(job);
    return job;
  }

  batchesOf(job: ModelJob): ModelBatch[] {
    return [...this.batches.values()].filter((batch) => batch.job === job);
  }

  /** The batch that this token is good for. */
  heldBy(token: string): (ModelBatch & { hold: ModelHold }) | undefined {
    const isHeld = (batch: ModelBatch): batch is ModelBatch & { hold: ModelHold } => batch.hold?.lease.token === token;
    return [...this.batches.values()].find(isHeld);
  }

  queue(job: ModelJob, refs: readonly BatchRef[], itemsPerBatch: number): void {
    const perBatch = job.batching?.maxItems ?? itemsPerBatch;
    if (refs.length > 0) job.status = 'in_progress';
    for (const ref of refs) {
      assert.ok(!this.everyRef.some((other) => other.batchId === ref.batchId), 'a batch id for the second time');
      this.everyRef.push(ref);
      this.batches.set(ref.batchId, { ref, job, queuedAt: this.now, perBatch, hold: null });
    }
  }

  /** Takes over what the lease tells, if it is what a lease of this batch may be. */
  claim(batch: ModelBatch, lease: Lease, worker: string, until: number): void {
    const { job } = batch;
    const held = this.batchesOf(job).flatMap((other) => other.hold?.left ?? []);
    assert.ok(lease.items.length >= 1 && lease.items.length <= batch.perBatch, 'size of the batch');
    if (job.batching !== undefined) mustBeOfOneGroup(job, lease);
    assert.ok(!this.everyLease.some((other) => other.token === lease.token), 'a token for the second time');
    assert.deepEqual([lease.until, lease.policyRevision], [until, job.policyRevision]);
    for (const { itemId, attempt, input } of lease.items) {
      const item = itemIn(job, itemId);
      assert.deepEqual(input, item.input, `input of ${itemId}`);
      assert.equal(item.end, null, `${itemId} is final and went out`);
      assert.ok(!held.includes(itemId), `${itemId} is in two hands`);
      item.deliveries += 1;
      assert.equal(attempt, item.deliveries, `attempt of ${itemId}`);
      assert.equal(lease.suspect, item.strikes > 0, `${itemId} has ${item.strikes} strikes`);
    }
    batch.hold = { lease, worker, until, left: lease.items.map((item) => item.itemId), begun: null };
    this.everyLease.push(lease);
  }

  settle(lease: Lease, items: readonly LeasedItem[], outcome: Outcome): SettleAnswer {
    const job = this.#jobOf(lease);
    const batch = this.heldBy(lease.token);
    if (batch === undefined) {
      if (items.every((item) => wasEnded(itemIn(job, item.itemId), item.attempt))) return 'recorded';
      job.fenced += 1;
      return 'fenced';
    }
    for (const { itemId, attempt } of items) {
      if (batch.hold.left.includes(itemId)) this.#end(batch, itemId, attempt, outcome);
    }
    if (batch.hold.left.length === 0) this.batches.delete(batch.ref.batchId);
    return 'recorded';
  }

  /** What is left of a batch comes back. */
  takeBack(batch: ModelBatch): void {
    this.batches.delete(batch.ref.batchId);
    if (batch.job.status !== 'cancelled') return;
    for (const itemId of batch.hold?.left ?? []) itemIn(batch.job, itemId).end = 'cancelled';
  }

  /** The worker of a batch was lost. */
  strike(batch: ModelBatch & { hold: ModelHold }): void {
    const { job, hold } = batch;
    if (job.status === 'cancelled') return;
    const charged = hold.lease.suspect ? hold.left.filter((itemId) => itemId === hold.begun) : [...hold.left];
    for (const itemId of charged) {
      const item = itemIn(job, itemId);
      item.strikes += 1;
      if (item.strikes === MAX_STRIKES) this.#end(batch, itemId, item.deliveries, failedWith('poison'));
    }
  }

  cancel(job: ModelJob): void {
    job.status = 'cancelled';
    const kept = new Set<string>();
    for (const batch of this.batchesOf(job)) {
      if (batch.hold === null) this.batches.delete(batch.ref.batchId);
      else batch.hold.left = batch.hold.left.slice(0, 1);
      for (const itemId of batch.hold?.left ?? []) kept.add(itemId);
    }
    for (const item of job.items.values()) {
      if (item.end === null && !kept.has(item.itemId)) item.end = 'cancelled';
    }
  }

  /** Says what the ledger must answer. */
  addItems(job: ModelJob, items: readonly NewItem[], openUntil: number): Added {
    const met = new Set<string>();
    const answer = { added: 0, duplicates: [] as number[], replaced: [] as number[], differing: [] as number[] };
    for (const [index, item] of items.entries()) {
      const { itemId, input, group } = item;
      const known = job.items.get(itemId);
      const isFirst = !met.has(itemId);
      met.add(itemId);
      if (known === undefined) {
        addItem(job, item);
        answer.added += 1;
        continue;
      }
      answer.duplicates.push(index);
      if (isDeepStrictEqual(known.input, input)) continue;
      const isTaken = isFirst && known.end === 'failed';
      if (isTaken) Object.assign(known, { input, group, end: null, strikes: 0 });
      (isTaken ? answer.replaced : answer.differing).push(index);
    }
    const isIdle = answer.added + answer.replaced.length === 0;
    if (job.status === 'completed' && isIdle) return answer;
    job.openUntil = openUntil;
    if (job.status !== 'completed') return answer;
    job.round += 1;
    Object.assign(job, { status: 'in_progress', tally: EMPTY_TALLY, isTripped: false });
    return answer;
  }

  reopen(job: ModelJob, items: readonly ModelItem[]): void {
    if (items.length === 0) return;
    for (const item of items) Object.assign(item, { end: null, strikes: 0 });
    if (job.status === 'completed') job.round += 1;
    if (job.status === 'paused' || job.status === 'in_progress') return;
    Object.assign(job, { status: 'in_progress', tally: EMPTY_TALLY, isTripped: false });
  }

  recover(item: ModelItem): void {
    const attempt = (item.ended.at(-1)?.attempt ?? 0) + 1;
    item.ended.push({ attempt, type: null });
    Object.assign(item, { end: 'success', deliveries: attempt });
  }

  nextExtraction(): string {
    this.#extractions += 1;
    return `again-${this.#extractions}`;
  }

  isExhausted(job: ModelJob): boolean {
    const items = [...job.items.values()];
    return items.length > 0 && items.every((item) => item.end !== null) && this.now >= job.openUntil;
  }

  mayDispatch(job: ModelJob): boolean {
    if (job.status !== 'pending' && job.status !== 'in_progress') return false;
    const ends = [...job.items.values()].map(({ end }) => end);
    const counts = {
      success: ends.filter((end) => end === 'success').length,
      failed: ends.filter((end) => end === 'failed').length,
    };
    return judge({ ...job, circuit: CLOSED, counts }, this.now).kind === 'stay';
  }

  #end({ job, hold }: ModelBatch & { hold: ModelHold }, itemId: string, attempt: number, outcome: Outcome): void {
    const item = itemIn(job, itemId);
    item.end = outcome.kind === 'scraped' ? 'success' : outcome.kind;
    const failed = outcome.kind === 'failed' ? outcome.failure : null;
    const step = failed?.step?.path;
    item.ended.push({ attempt, type: failed?.type ?? null, ...(step !== undefined && { step }) });
    job.tally = tallyOutcome(job.tally, outcome);
    hold.left = hold.left.filter((other) => other !== itemId);
  }

  #jobOf(lease: Lease): ModelJob {
    const job = this.jobs.find((one) => one.jobId === lease.ref.jobId);
    assert.ok(job);
    return job;
  }
}

function mustBeOfOneGroup(job: ModelJob, { items }: Lease): void {
  const groups = new Set(items.map(({ itemId }) => itemIn(job, itemId).group));
  assert.equal(groups.size, 1, `a batch of the groups ${[...groups]}`);
  const seqs = items.map(({ seq }) => seq);
  assert.deepEqual(
    seqs,
    seqs.toSorted((one, other) => one - other),
    'the order of a batch',
  );
}

function addItem(job: ModelJob, { itemId, input, group }: NewItem): void {
  job.items.set(itemId, { itemId, input, group, end: null, strikes: 0, deliveries: 0, ended: [], lastStatus: null });
}

export function itemIn(job: ModelJob, itemId: string): ModelItem {
  const item = job.items.get(itemId);
  assert.ok(item, `nobody added ${itemId}`);
  return item;
}

/** Whether a worker ended it; an item that the ledger itself failed as poison was not. */
function wasEnded(item: ModelItem, attempt: number): boolean {
  return item.ended.slice(-MAX_HISTORY).some((one) => one.attempt === attempt && one.type !== 'poison');
}
