import type { Allowance } from '../../../src/domain/allowance.ts';
import { planDispatch } from '../../../src/domain/dispatch-plan.ts';
import { mustRunAlone } from '../../../src/domain/item.ts';
import { whenClaimed, whenDispatched } from '../../../src/domain/job-progress.ts';
import {
  type ClaimAnswer,
  type Dispatched,
  type LatestTimes,
  type Lease,
  type LeaseBook,
  type WorkOrder,
  workOrderOf,
} from '../../../src/ports/ledger.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import { type Batch, type Hold, type ItemEntry, type JobEntry, sourceOf } from './entries.ts';
import { MemoryItemBook } from './item-book.ts';

type Outgoing = 'dispatch' | 'claim' | 'workOrder' | 'begin' | 'renew' | 'clampTimes' | 'abandon';

/** How work goes out and is held. How it comes back is in `ledger.ts`. */
export abstract class MemoryLeaseBook extends MemoryItemBook implements Pick<LeaseBook, Outgoing> {
  #batchesMade = 0;
  #claimsMade = 0;

  dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    return this.step<Dispatched | null>(() => {
      const entry = this.entries.get(jobId);
      if (entry === undefined) return null;
      const plan = planDispatch(entry.record, itemsPerBatch, now);
      const batches = plan.kind === 'go' ? this.makeBatches(entry, plan.allowance, now) : [];
      if (plan.kind !== 'go' || batches.length === 0) return { refs: [], plan };

      const items = batches.reduce((sum, batch) => sum + batch.unsettled.size, 0);
      const { from, spacingMs } = plan.allowance.pace;
      const went = { batches: batches.length, items, readyAt: from + items * spacingMs, throttle: plan.throttle };
      this.write(entry, whenDispatched(entry.record, went, now));
      this.tell({ kind: 'dispatched', jobId, batches: batches.length, items });
      return { refs: batches.map((batch) => batch.ref), plan };
    });
  }

  claim(refs: readonly BatchRef[], worker: string, until: number, now: number): Promise<readonly ClaimAnswer[]> {
    return this.step(() => refs.map((ref) => this.claimOne(ref, worker, until, now)));
  }

  workOrder(jobId: string): Promise<WorkOrder | null> {
    return this.step(() => {
      const job = this.entries.get(jobId)?.record;
      return job === undefined ? null : workOrderOf(job);
    });
  }

  begin(token: string, seq: number): Promise<boolean> {
    return this.step(() => {
      const batch = this.held(token);
      const item = batch?.job.items[seq];
      if (!batch?.hold || item === undefined || !batch.unsettled.has(item)) return false;
      batch.hold.begun = item;
      return true;
    });
  }

  renew(tokens: readonly string[], until: number): Promise<readonly string[]> {
    return this.step(() => tokens.filter((token) => !this.renewOne(token, until)));
  }

  clampTimes(readLatest: () => LatestTimes | null): Promise<number> {
    return this.step(() => {
      const latest = readLatest();
      let clamped = 0;
      if (latest === null) return clamped;
      for (const batch of this.batches.values()) {
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
    return this.step(() => {
      let abandoned = 0;
      for (const { hold } of this.leases.values()) {
        if (hold?.worker !== worker || hold.until <= now) continue;
        hold.until = now;
        abandoned += 1;
      }
      return abandoned;
    });
  }

  /** The fence: a batch is found only by the token that it has now. */
  protected held(token: string): Batch | undefined {
    return this.leases.get(token);
  }

  /** Unique per claim; the batch can be read from it, also when it is gone. */
  protected nextToken(ref: BatchRef): string {
    this.#claimsMade += 1;
    return `${ref.batchId}/${this.#claimsMade}`;
  }

  protected makeBatches(entry: JobEntry, allowance: Allowance, now: number): Batch[] {
    const made: Batch[] = [];
    while (made.length < allowance.batches) {
      const suspect = entry.suspects.size > 0;
      const unsettled = suspect ? takeFrom(entry.suspects, allowance.itemsPerBatch) : takeClean(entry, allowance);
      if (unsettled.size === 0) break;
      this.#batchesMade += 1;
      const ref = { jobId: entry.record.jobId, batchId: `b${this.#batchesMade}`, lane: entry.record.lane };
      const batch: Batch = { ref, job: entry, suspect, queuedAt: now, unsettled, hold: null };
      for (const item of unsettled) item.batch = batch;
      entry.batches.add(batch);
      this.batches.set(ref.batchId, batch);
      made.push(batch);
    }
    return made;
  }

  protected claimOne(ref: BatchRef, worker: string, until: number, now: number): ClaimAnswer {
    const batch = this.batches.get(ref.batchId);
    if (batch === undefined) return 'gone';
    if (batch.hold !== null) return batch.hold.worker === worker ? leaseOf(batch, batch.hold) : 'held';

    batch.hold = { token: this.nextToken(ref), worker, claimedAt: now, until, begun: null };
    this.leases.set(batch.hold.token, batch);
    this.countDelivery(batch);
    this.write(batch.job, whenClaimed(batch.job.record));
    this.tell({ kind: 'claimed', jobId: ref.jobId, batches: 1 });
    return leaseOf(batch, batch.hold);
  }

  protected countDelivery(batch: Batch): void {
    for (const item of batch.unsettled) item.deliveries += 1;
  }

  protected renewOne(token: string, until: number): boolean {
    const hold = this.held(token)?.hold;
    if (!hold) return false;
    hold.until = Math.max(hold.until, until);
    return true;
  }
}

function takeFrom(items: Set<ItemEntry>, max: number): Set<ItemEntry> {
  const taken = new Set<ItemEntry>();
  for (const item of items) {
    if (taken.size >= max) break;
    items.delete(item);
    taken.add(item);
  }
  return taken;
}

/** What came back goes first. */
function takeClean(entry: JobEntry, { itemsPerBatch }: Allowance): Set<ItemEntry> {
  const taken = takeFrom(entry.returned, itemsPerBatch);
  while (taken.size < itemsPerBatch) {
    const item = entry.items[entry.cursor];
    if (item === undefined) break;
    taken.add(item);
    entry.cursor += 1;
  }
  return taken;
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
      attempt: item.deliveries,
    })),
  };
}
