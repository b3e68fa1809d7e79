import type { Allowance } from '../../../domain/allowance.ts';
import { planDispatch } from '../../../domain/dispatch-plan.ts';
import { whenClaimed, whenDispatched } from '../../../domain/job-progress.ts';
import {
  type ClaimAnswer,
  type Dispatched,
  type DueTimes,
  type LatestTimes,
  type Ledger,
  type ReleaseCause,
  type ReturnCause,
  type SettleAnswer,
  type SettledItem,
  type SettlePart,
  type WorkOrder,
  workOrderOf,
} from '../../../ports/ledger.ts';
import type { BatchRef } from '../../../ports/work-queue.ts';
import { type Batch, type HeldBatch, isHeld } from './batches.ts';
import type { Committer } from './committer.ts';
import { EmbeddedItemBook } from './item-book.ts';
import type { JobEntry } from './jobs.ts';
import { batchIdOf, batchIdOfToken, ItemsToLease, keyOfBatchId, keyOfToken, refOf } from './lease-rows.ts';
import { PendingItems } from './pending-items.ts';
import type { Removal } from './removal.ts';
import { jobNumOf } from './row-key.ts';
import { isRecordedBefore, settleItem, strike } from './settling.ts';
import type { Tables } from './tables.ts';

/**
 * The ledger on SQLite. The books of jobs and items are its base classes; here are the leases. What is only a hint to
 * workers (dispatch, claim, renew …) is applied and answered without a wait for the disk: a process that dies loses
 * nothing of it, and if the machine goes down, the workers do too. How an item ended is answered when it is durable.
 */
export class EmbeddedLedger extends EmbeddedItemBook implements Ledger {
  readonly #removal: Removal;

  constructor(parts: { tables: Tables; committer: Committer; removal: Removal }) {
    super(parts.tables, parts.committer);
    this.#removal = parts.removal;
  }

  dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    return this.applied<Dispatched | null>(() => {
      const entry = this.tables.jobs.get(jobId);
      if (entry === null) return null;
      const plan = planDispatch(entry.record, itemsPerBatch, now);
      const batches = plan.kind === 'go' ? this.#makeBatches(entry, plan.allowance, now) : [];
      if (plan.kind !== 'go' || batches.length === 0) return { refs: [], plan };

      const items = batches.reduce((sum, batch) => sum + batch.items.length, 0);
      const { from, spacingMs } = plan.allowance.pace;
      const went = { batches: batches.length, items, readyAt: from + items * spacingMs, throttle: plan.throttle };
      this.write(entry, whenDispatched(entry.record, went, now));
      this.tell({ kind: 'dispatched', jobId, batches: batches.length, items });
      return { refs: batches.map((batch) => refOf(entry, batch)), plan };
    });
  }

  claim(refs: readonly BatchRef[], worker: string, until: number, now: number): Promise<readonly ClaimAnswer[]> {
    return this.applied(() => {
      const claimed = new Map<JobEntry, number>();
      const found = refs.map((ref) => this.#claimOne(ref, worker, until, now, claimed));
      for (const [{ record }, batches] of claimed) this.tell({ kind: 'claimed', jobId: record.jobId, batches });

      const items = new ItemsToLease(
        this.sql,
        found.filter((answer) => typeof answer === 'object'),
      );
      return found.map((answer) => {
        if (typeof answer !== 'object') return answer;
        const entry = this.#jobOf(answer);
        return entry === null ? 'gone' : items.leaseOf(entry, answer);
      });
    });
  }

  workOrder(jobId: string): Promise<WorkOrder | null> {
    return this.read(() => {
      const job = this.tables.jobs.get(jobId)?.record;
      return job === undefined ? null : workOrderOf(job);
    });
  }

  begin(token: string, seq: number): Promise<boolean> {
    return this.applied(() => {
      const batch = this.#held(token);
      if (!batch?.items.some((item) => item.seq === seq)) return false;
      batch.hold.begunSeq = seq;
      this.tables.batches.changed(batch);
      return true;
    });
  }

  renew(tokens: readonly string[], until: number): Promise<readonly string[]> {
    return this.applied(() =>
      tokens.filter((token) => {
        const batch = this.#held(token);
        if (batch === null) return true;
        batch.dueAt = Math.max(batch.dueAt, until);
        batch.hold.blameless = false;
        this.tables.batches.changed(batch);
        return false;
      }),
    );
  }

  settle(parts: readonly SettlePart[], _now: number): Promise<readonly SettleAnswer[]> {
    return this.durableSoon(() => {
      const settled = new Map<string, SettledItem[]>();
      const answers = parts.map((part) => this.#settlePart(part, settled));
      for (const [jobId, items] of settled) this.tell({ kind: 'settled', jobId, items });
      return answers;
    });
  }

  release(token: string, because: ReleaseCause, _now: number): Promise<boolean> {
    return this.durable(() => {
      const batch = this.#held(token);
      if (batch === null) return false;
      this.#takeBack(batch, because);
      return true;
    });
  }

  recall(refs: readonly BatchRef[], _now: number): Promise<number> {
    return this.applied(() => {
      let recalled = 0;
      for (const { batchId } of refs) {
        const batch = this.tables.batches.get(keyOfBatchId(batchId));
        if (batch === undefined || batch.hold !== null) continue;
        this.#takeBack(batch, 'recalled');
        recalled += 1;
      }
      return recalled;
    });
  }

  expire(readTimes: () => DueTimes | null, limit: number): Promise<{ leases: number; queued: number }> {
    // A third strike ends an item, and an end that was answered must survive the machine. Most looks find nothing.
    const isIdle = this.#overdue(readTimes()).length === 0;
    if (isIdle) return Promise.resolve({ leases: 0, queued: 0 });
    return this.durable(() => {
      const ended = { leases: 0, queued: 0 };
      const times = readTimes();
      for (const batch of this.#overdue(times).slice(0, limit)) {
        if (times !== null && isHeld(batch)) {
          ended.leases += 1;
          this.#strike(batch, times.now);
          this.#takeBack(batch, 'expired');
        } else {
          ended.queued += 1;
          this.#takeBack(batch, 'lost');
        }
      }
      return ended;
    });
  }

  clampTimes(readLatest: () => LatestTimes | null): Promise<number> {
    return this.applied(() => {
      const latestTimes = readLatest();
      let clamped = 0;
      if (latestTimes === null) return clamped;
      for (const batch of this.tables.batches.all()) {
        const latest = batch.hold === null ? latestTimes.queuedAt : latestTimes.until;
        if (batch.dueAt <= latest) continue;
        batch.dueAt = latest;
        this.tables.batches.changed(batch);
        clamped += 1;
      }
      return clamped;
    });
  }

  abandon(worker: string, now: number): Promise<number> {
    return this.applied(() => {
      let abandoned = 0;
      for (const batch of this.tables.batches.all()) {
        if (batch.hold?.worker !== worker || batch.dueAt <= now) continue;
        batch.dueAt = now;
        this.tables.batches.changed(batch);
        abandoned += 1;
      }
      return abandoned;
    });
  }

  protected sweepSoon(): void {
    this.#removal.poke();
  }

  #makeBatches(entry: JobEntry, allowance: Allowance, now: number): Batch[] {
    const pending = new PendingItems(this.sql, entry, allowance.batches * allowance.itemsPerBatch);
    return pending.takeBatches(allowance).map(({ suspect, items }) => {
      const batch = this.tables.batches.add(entry.num, entry.nextBatch, { suspect, dueAt: now, items });
      entry.nextBatch += 1;
      return batch;
    });
  }

  #claimOne(
    { batchId }: BatchRef,
    worker: string,
    until: number,
    now: number,
    claimed: Map<JobEntry, number>,
  ): Batch | 'gone' | 'held' {
    const batch = this.tables.batches.get(keyOfBatchId(batchId));
    const entry = batch === undefined ? null : this.#jobOf(batch);
    if (batch === undefined || entry === null) return 'gone';
    if (batch.hold !== null) return batch.hold.worker === worker ? batch : 'held';

    batch.hold = { worker, claimedAt: now, begunSeq: null, blameless: false };
    batch.dueAt = until;
    for (const item of batch.items) item.deliveries += 1;
    this.tables.batches.changed(batch);
    this.write(entry, whenClaimed(entry.record));
    claimed.set(entry, (claimed.get(entry) ?? 0) + 1);
    return batch;
  }

  #settlePart(part: SettlePart, settled: Map<string, SettledItem[]>): SettleAnswer {
    const batch = this.#held(part.token);
    const entry = batch === null ? null : this.#jobOf(batch);
    if (batch === null || entry === null) return this.#settleWithoutLease(part);
    const ended: SettledItem[] = settled.get(part.jobId) ?? [];
    for (const settlement of part.items) {
      const item = settleItem(this.tables, entry, batch, settlement);
      if (item !== null) ended.push(item);
    }
    if (ended.length > 0) settled.set(part.jobId, ended);
    if (batch.items.length === 0) this.tables.batches.remove(batch);
    else this.tables.batches.changed(batch);
    return 'recorded';
  }

  #settleWithoutLease({ jobId, token, items }: SettlePart): SettleAnswer {
    const entry = this.tables.jobs.get(jobId);
    if (entry === null) return 'fenced';
    if (items.every((settlement) => isRecordedBefore(this.tables, entry, settlement))) return 'recorded';
    this.write(entry, { ...entry.record, fenced: entry.record.fenced + 1 });
    this.tell({ kind: 'fenced', jobId, batchId: batchIdOfToken(token) });
    return 'fenced';
  }

  #strike(batch: HeldBatch, now: number): void {
    const entry = this.#jobOf(batch);
    const items = entry === null ? [] : strike(this.tables, entry, batch, now);
    if (entry !== null && items.length > 0) this.tell({ kind: 'settled', jobId: entry.record.jobId, items });
  }

  #takeBack(batch: Batch, because: ReturnCause): void {
    const entry = this.#jobOf(batch);
    if (entry === null) return;
    if (batch.items.length === 0) {
      this.tables.batches.remove(batch);
      return;
    }
    const items = batch.items.length;
    this.tables.takeBack(entry, batch);
    this.tell({ kind: 'returned', jobId: entry.record.jobId, batchId: batchIdOf(batch.key), because, items });
  }

  /** The fence: a batch is found only by the token that it has now. */
  #held(token: string): HeldBatch | null {
    const batch = this.tables.batches.get(keyOfToken(token));
    return batch !== undefined && isHeld(batch) ? batch : null;
  }

  /** Oldest first over all jobs, so that a job with much to end cannot starve the others. */
  #overdue(times: DueTimes | null): Batch[] {
    if (times === null) return [];
    const overdue: Batch[] = [];
    for (const batch of this.tables.batches.all()) {
      if (batch.hold === null ? batch.dueAt < times.queuedBefore : batch.dueAt <= times.now) overdue.push(batch);
    }
    return overdue.sort((one, other) => one.dueAt - other.dueAt);
  }

  #jobOf(batch: Batch): JobEntry | null {
    return this.tables.jobs.byNum(jobNumOf(batch.key));
  }
}
