import type { Allowance } from '../../../domain/allowance.ts';
import { planDispatch } from '../../../domain/dispatch-plan.ts';
import { isControlBatch } from '../../../domain/job-controls.ts';
import { whenClaimed, whenCut, whenDispatched } from '../../../domain/job-progress.ts';
import { type WorkOrder, workOrderOf } from '../../../domain/work-order.ts';
import { claimControl } from '../../../ports/claim-control.ts';
import type { Leases } from '../../../ports/compose-ledger.ts';
import type { ClaimAnswer, Dispatched, LatestTimes } from '../../../ports/ledger.ts';
import type { BatchRef } from '../../../ports/work-queue.ts';
import type { Batch } from './batches.ts';
import type { Books } from './books.ts';
import type { JobEntry } from './jobs.ts';
import { countFitting, ItemsToLease, keyOfBatchId, refOf } from './lease-rows.ts';
import { PendingItems } from './pending-items.ts';

/**
 * How work goes out and is leased. All of it is only a hint to workers, applied and answered without waiting for the
 * disk: a process that dies loses none of it, and if the machine crashes, so do the workers.
 */
export class EmbeddedLeaseBook implements Leases {
  readonly #books: Books;

  constructor(books: Books) {
    this.#books = books;
  }

  dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    return this.#books.applied<Dispatched | null>(() => {
      const entry = this.#books.tables.jobs.get(jobId);
      if (entry === null) return null;
      const plan = planDispatch(entry.record, itemsPerBatch, now);
      const batches = plan.kind === 'go' ? this.#makeBatches(entry, plan.allowance, now) : [];
      if (plan.kind !== 'go' || batches.length === 0) return { refs: [], plan };

      const items = batches.reduce((sum, batch) => sum + batch.items.length, 0);
      const went = { batches: batches.length, items, throttle: plan.throttle };
      this.#books.write(entry, whenDispatched(entry.record, went, now));
      this.#books.tell({ kind: 'dispatched', jobId, batches: batches.length, items });
      return { refs: batches.map((batch) => refOf(entry, batch)), plan };
    });
  }

  claim(refs: readonly BatchRef[], worker: string, until: number, now: number): Promise<readonly ClaimAnswer[]> {
    return this.#books.applied(() => {
      const claimed = new Map<JobEntry, number>();
      const wanted: Claim = { worker, until, now, maxBytes: MAX_CLAIMED_BYTES / refs.length };
      const found = refs.map((ref) => {
        if (!isControlBatch(ref.batchId)) return this.#claimOne(ref, wanted, claimed);
        return claimControl(this.#books.tables.jobs.get(ref.jobId)?.record, ref, until);
      });
      for (const [{ record }, batches] of claimed) this.#books.tell({ kind: 'claimed', jobId: record.jobId, batches });

      const items = new ItemsToLease(this.#books.sql, found.filter(isBatch));
      return found.map((answer) => {
        if (!isBatch(answer)) return answer;
        const entry = this.#books.jobOf(answer);
        return entry === null ? 'gone' : items.leaseOf(entry, answer);
      });
    });
  }

  workOrder(jobId: string): Promise<WorkOrder | null> {
    return this.#books.read(() => {
      const job = this.#books.tables.jobs.get(jobId)?.record;
      return job === undefined ? null : workOrderOf(job);
    });
  }

  begin(token: string, seq: number): Promise<boolean> {
    return this.#books.applied(() => {
      const batch = this.#books.held(token);
      if (!batch?.items.some((item) => item.seq === seq)) return false;
      batch.hold.begunSeq = seq;
      this.#books.tables.batches.changed(batch);
      return true;
    });
  }

  renew(tokens: readonly string[], until: number): Promise<readonly string[]> {
    return this.#books.applied(() =>
      tokens.filter((token) => {
        const batch = this.#books.held(token);
        if (batch === null) return true;
        batch.dueAt = Math.max(batch.dueAt, until);
        batch.hold.blameless = false;
        this.#books.tables.batches.changed(batch);
        return false;
      }),
    );
  }

  clampTimes(readLatest: () => LatestTimes | null): Promise<number> {
    return this.#books.applied(() => {
      const latestTimes = readLatest();
      let clamped = 0;
      if (latestTimes === null) return clamped;
      for (const batch of this.#books.tables.batches.all()) {
        const latest = batch.hold === null ? latestTimes.queuedAt : latestTimes.until;
        if (batch.dueAt <= latest) continue;
        batch.dueAt = latest;
        this.#books.tables.batches.changed(batch);
        clamped += 1;
      }
      return clamped;
    });
  }

  abandon(worker: string, now: number): Promise<number> {
    return this.#books.applied(() => {
      let abandoned = 0;
      for (const batch of this.#books.tables.batches.all()) {
        if (batch.hold?.worker !== worker || batch.dueAt <= now) continue;
        batch.dueAt = now;
        this.#books.tables.batches.changed(batch);
        abandoned += 1;
      }
      return abandoned;
    });
  }

  #makeBatches(entry: JobEntry, allowance: Allowance, now: number): Batch[] {
    const pending = new PendingItems(this.#books.tables, entry, allowance, now);
    return pending.takeBatches().map(({ suspect, items }) => {
      const batch = this.#books.tables.batches.add(entry.num, entry.nextBatch, { suspect, dueAt: now, items });
      entry.nextBatch += 1;
      return batch;
    });
  }

  #claimOne(
    { batchId }: BatchRef,
    { worker, until, now, maxBytes }: Claim,
    claimed: Map<JobEntry, number>,
  ): Batch | 'gone' | 'held' {
    const batch = this.#books.tables.batches.get(keyOfBatchId(batchId));
    const entry = batch === undefined ? null : this.#books.jobOf(batch);
    if (batch === undefined || entry === null) return 'gone';
    if (batch.hold !== null) return batch.hold.worker === worker ? batch : 'held';

    if (batch.items.length > 1) this.#cutToSize(entry, batch, maxBytes);
    batch.hold = { worker, claimedAt: now, begunSeq: null, blameless: false };
    batch.dueAt = until;
    for (const item of batch.items) item.deliveries += 1;
    this.#books.tables.batches.changed(batch);
    this.#books.write(entry, whenClaimed(entry.record));
    claimed.set(entry, (claimed.get(entry) ?? 0) + 1);
    return batch;
  }

  /** What is too much for one message waits for the next batch, and no delivery of it is counted. */
  #cutToSize(entry: JobEntry, batch: Batch, maxBytes: number): void {
    const fits = countFitting(this.#books.sql, batch, maxBytes);
    if (fits === batch.items.length) return;
    const rest = batch.items.splice(fits);
    this.#books.tables.putBack(entry, rest);
    this.#books.write(entry, whenCut(entry.record, rest.length));
  }
}

/** And not the lease of a control, which is complete as it is. */
function isBatch(answer: Batch | ClaimAnswer): answer is Batch {
  return typeof answer === 'object' && !('token' in answer);
}

interface Claim {
  readonly worker: string;
  readonly until: number;
  readonly now: number;
  /** Limit for the inputs of one batch, if it has several. */
  readonly maxBytes: number;
}

/**
 * Limit for all batches claimed together, because a worker in another process gets them in one message. That may have
 * eleven million characters (`socket/outbox.ts`), and one that cannot be sent costs each item a strike.
 */
const MAX_CLAIMED_BYTES = 4 * 2 ** 20;
