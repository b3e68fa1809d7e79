import type { Allowance } from '../../../src/domain/allowance.ts';
import { type PendingRun, planBatches, splitByGroup } from '../../../src/domain/batching.ts';
import { planDispatch } from '../../../src/domain/dispatch-plan.ts';
import { isControlBatch } from '../../../src/domain/job-controls.ts';
import { whenClaimed, whenDispatched } from '../../../src/domain/job-progress.ts';
import { holdsFrom, isHeld } from '../../../src/domain/job-wait.ts';
import { mustRunAlone } from '../../../src/domain/strikes.ts';
import { type WorkOrder, workOrderOf } from '../../../src/domain/work-order.ts';
import { claimControl } from '../../../src/ports/claim-control.ts';
import type { Leases } from '../../../src/ports/compose-ledger.ts';
import type { ClaimAnswer, Dispatched, LatestTimes, Lease } from '../../../src/ports/ledger.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import type { MemoryCore } from './core.ts';
import { type Batch, depthOf, type Hold, type ItemEntry, type JobEntry, sourceOf } from './entries.ts';

/** How work goes out and is held. How it comes back is in `returns.ts`. */
export class MemoryLeaseBook implements Leases {
  protected readonly core: MemoryCore;
  #batchesMade = 0;
  #claimsMade = 0;

  constructor(core: MemoryCore) {
    this.core = core;
  }

  dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    return this.core.step<Dispatched | null>(() => {
      const entry = this.core.entries.get(jobId);
      if (entry === undefined) return null;
      const plan = planDispatch(entry.record, itemsPerBatch, now);
      const batches = plan.kind === 'go' ? this.makeBatches(entry, plan.allowance, now) : [];
      if (plan.kind !== 'go' || batches.length === 0) return { refs: [], plan };

      const items = batches.reduce((sum, batch) => sum + batch.unsettled.size, 0);
      const went = { batches: batches.length, items, throttle: plan.throttle };
      this.core.write(entry, whenDispatched(entry.record, went, now));
      this.core.tell({ kind: 'dispatched', jobId, batches: batches.length, items });
      return { refs: batches.map((batch) => batch.ref), plan };
    });
  }

  claim(refs: readonly BatchRef[], worker: string, until: number, now: number): Promise<readonly ClaimAnswer[]> {
    return this.core.step(() =>
      refs.map((ref) => {
        if (isControlBatch(ref.batchId)) return claimControl(this.core.entries.get(ref.jobId)?.record, ref, until);
        return this.claimOne(ref, worker, until, now);
      }),
    );
  }

  workOrder(jobId: string): Promise<WorkOrder | null> {
    return this.core.step(() => {
      const job = this.core.entries.get(jobId)?.record;
      return job === undefined ? null : workOrderOf(job);
    });
  }

  begin(token: string, seq: number): Promise<boolean> {
    return this.core.step(() => {
      const batch = this.core.held(token);
      const item = batch?.job.items[seq];
      if (!batch?.hold || item === undefined || !batch.unsettled.has(item)) return false;
      batch.hold.begun = item;
      return true;
    });
  }

  renew(tokens: readonly string[], until: number): Promise<readonly string[]> {
    return this.core.step(() => tokens.filter((token) => !this.renewOne(token, until)));
  }

  clampTimes(readLatest: () => LatestTimes | null): Promise<number> {
    return this.core.step(() => {
      const latest = readLatest();
      let clamped = 0;
      if (latest === null) return clamped;
      for (const batch of this.core.batches.values()) {
        const { hold } = batch;
        if ((hold === null ? batch.queuedAt : hold.until) <= (hold === null ? latest.queuedAt : latest.until)) continue;
        if (hold === null) batch.queuedAt = latest.queuedAt;
        else hold.until = latest.until;
        clamped += 1;
      }
      return clamped;
    });
  }

  abandon(worker: string, now: number): Promise<number> {
    return this.core.step(() => {
      let abandoned = 0;
      for (const { hold } of this.core.leases.values()) {
        if (hold?.worker !== worker || hold.until <= now) continue;
        hold.until = now;
        abandoned += 1;
      }
      return abandoned;
    });
  }

  /** Unique per claim; the batch can be read from it, even when the batch is gone. */
  protected nextToken(ref: BatchRef): string {
    this.#claimsMade += 1;
    return `${ref.batchId}/${this.#claimsMade}`;
  }

  protected makeBatches(entry: JobEntry, allowance: Allowance, now: number): Batch[] {
    const fresh = entry.items.slice(entry.cursor, entry.cursor + allowance.batches * allowance.itemsPerBatch);
    const from = holdsFrom(entry.record, now);
    const isFree = (item: ItemEntry) => !this.isHeldNow(item, from, now);
    const runs = [
      ...this.runsOf(entry, 'suspect', [...entry.suspects].filter(isFree)),
      ...this.runsOf(entry, 'returned', [...entry.returned].filter(isFree)),
      ...this.runsOf(entry, 'fresh', fresh),
    ];
    return planBatches(runs, allowance).map(({ suspect, parts }) => {
      const unsettled = new Set(parts.flatMap(({ run, count }) => run.waiting.splice(0, count)));
      for (const item of unsettled) {
        entry.suspects.delete(item);
        entry.returned.delete(item);
        entry.cursor = Math.max(entry.cursor, item.seq + 1);
      }
      this.#batchesMade += 1;
      const ref = { jobId: entry.record.jobId, batchId: `b${this.#batchesMade}`, lane: entry.record.lane };
      const batch: Batch = { ref, job: entry, suspect, queuedAt: now, unsettled, hold: null };
      for (const item of unsettled) item.batch = batch;
      entry.batches.add(batch);
      this.core.batches.set(ref.batchId, batch);
      return batch;
    });
  }

  protected isHeldNow({ hold }: ItemEntry, from: number | null, now: number): boolean {
    return isHeld(hold, from, now);
  }

  /** Where batches are made by group, what came back goes out in the order in which it was added. */
  protected runsOf({ record }: JobEntry, kind: Run['kind'], items: readonly ItemEntry[]): readonly Run[] {
    const { batching } = record;
    const inOrder = batching === undefined ? items : items.toSorted((one, other) => one.seq - other.seq);
    const parts = splitByGroup(inOrder, ({ group }) => (batching === undefined ? null : group));
    return parts.map(({ group, items: waiting }) => ({ kind, lot: 0, group, count: waiting.length, waiting }));
  }

  protected claimOne(ref: BatchRef, worker: string, until: number, now: number): ClaimAnswer {
    const batch = this.core.batches.get(ref.batchId);
    if (batch === undefined) return 'gone';
    if (batch.hold !== null) return batch.hold.worker === worker ? leaseOf(batch, batch.hold) : 'held';

    batch.hold = { token: this.nextToken(ref), worker, claimedAt: now, until, begun: null };
    this.core.leases.set(batch.hold.token, batch);
    this.countDelivery(batch);
    this.core.write(batch.job, whenClaimed(batch.job.record));
    this.core.tell({ kind: 'claimed', jobId: ref.jobId, batches: 1 });
    return leaseOf(batch, batch.hold);
  }

  protected countDelivery(batch: Batch): void {
    for (const item of batch.unsettled) item.deliveries += 1;
  }

  protected renewOne(token: string, until: number): boolean {
    const hold = this.core.held(token)?.hold;
    if (!hold) return false;
    hold.until = Math.max(hold.until, until);
    return true;
  }
}

interface Run extends PendingRun {
  readonly waiting: ItemEntry[];
}

function leaseOf(batch: Batch, hold: Hold): Lease {
  return {
    token: hold.token,
    ref: batch.ref,
    until: hold.until,
    suspect: batch.suspect,
    alone: mustRunAlone([...batch.unsettled]),
    jobCreatedAt: batch.job.record.createdAt,
    policyRevision: batch.job.record.policyRevision,
    items: [...batch.unsettled].map((item) => ({
      seq: item.seq,
      itemId: item.itemId,
      input: item.input,
      ...sourceOf(item),
      ...depthOf(item),
      attempt: item.deliveries,
    })),
  };
}
