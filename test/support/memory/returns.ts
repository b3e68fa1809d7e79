import { attemptRecord, earlierAttempts, isRecorded } from '../../../src/domain/attempts.ts';
import { admitFinds, wantedFinds, whenFound } from '../../../src/domain/discovery.ts';
import { newFailure } from '../../../src/domain/failure-group.ts';
import type { Found } from '../../../src/domain/found.ts';
import { whenHeldBack, whenReturned, whenSettled, whenUsed } from '../../../src/domain/job-progress.ts';
import { holdAfter } from '../../../src/domain/job-wait.ts';
import { statusWhenBack } from '../../../src/domain/open-status.ts';
import { keptOf } from '../../../src/domain/outcome.ts';
import { poisonEnd } from '../../../src/domain/poison.ts';
import { isPoison, strikesAfterLoss } from '../../../src/domain/strikes.ts';
import { addUsage, NO_USAGE, type Usage } from '../../../src/domain/usage.ts';
import type { Returns } from '../../../src/ports/compose-ledger.ts';
import type { DueTimes, SettleAnswer, SettledItem, Settlement, SettlePart } from '../../../src/ports/ledger.ts';
import { isHeldBack, type ReleaseCause, type ReturnCause } from '../../../src/ports/return-cause.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import type { MemoryCore } from './core.ts';
import {
  appendItem,
  type Batch,
  type Hold,
  type ItemEntry,
  type JobEntry,
  knownItems,
  makeCancelled,
  makePending,
} from './entries.ts';

/** How work comes back: done, given back, called back, or lost. */
export class MemoryReturns implements Returns {
  protected readonly core: MemoryCore;

  constructor(core: MemoryCore) {
    this.core = core;
  }

  settle(parts: readonly SettlePart[], _now: number): Promise<readonly SettleAnswer[]> {
    return this.core.step(() => parts.map((part) => this.settlePart(part)));
  }

  release(token: string, because: ReleaseCause, now: number, usage?: Usage): Promise<boolean> {
    return this.core.step(() => {
      const batch = this.core.held(token);
      if (batch === undefined) return false;
      if (isHeldBack(because)) this.core.write(batch.job, whenHeldBack(batch.job.record, because, now));
      this.core.write(batch.job, whenUsed(batch.job.record, usage));
      const items = [...batch.unsettled];
      this.takeBack(batch, because);
      const hold = isHeldBack(because) ? holdAfter(batch.job.record, because, now) : null;
      for (const item of items) item.hold = hold;
      return true;
    });
  }

  recall(refs: readonly BatchRef[], _now: number): Promise<number> {
    return this.core.step(() => {
      let recalled = 0;
      for (const ref of refs) {
        const batch = this.core.batches.get(ref.batchId);
        if (batch === undefined || batch.hold !== null) continue;
        this.takeBack(batch, 'recalled');
        recalled += 1;
      }
      return recalled;
    });
  }

  expire(readTimes: () => DueTimes | null, limit: number): Promise<{ leases: number; queued: number }> {
    return this.core.step(() => {
      const ended = { leases: 0, queued: 0 };
      const times = readTimes();
      if (times === null) return ended;
      for (const batch of this.overdue(times).slice(0, limit)) {
        ended[batch.hold === null ? 'queued' : 'leases'] += 1;
        if (batch.hold !== null) this.strike(batch, batch.hold, times.now);
        this.takeBack(batch, batch.hold === null ? 'lost' : 'expired');
      }
      return ended;
    });
  }

  protected settlePart(part: SettlePart): SettleAnswer {
    const batch = this.core.held(part.token);
    if (batch === undefined) return this.settleWithoutLease(part);
    const settled: SettledItem[] = [];
    let usage = NO_USAGE;
    for (const settlement of part.items) {
      const item = batch.job.items[settlement.seq];
      // It is not in the batch any more: recorded by an earlier part, or cancelled. Either way it is final.
      if (item === undefined || !batch.unsettled.has(item)) continue;
      settled.push(this.settleItem(batch, item, settlement));
      usage = addUsage(usage, settlement.usage);
    }
    const used = usage.length > 0 && { usage };
    if (settled.length > 0) this.core.tell({ kind: 'settled', jobId: part.jobId, items: settled, ...used });
    if (batch.unsettled.size === 0) this.core.forget(batch);
    return 'recorded';
  }

  protected settleWithoutLease(part: SettlePart): SettleAnswer {
    const entry = this.core.entries.get(part.jobId);
    if (entry === undefined) return 'fenced';
    const isKnown = ({ seq, attempt }: Settlement) => isRecorded(entry.items[seq]?.attempts ?? [], attempt);
    if (part.items.every(isKnown)) return 'recorded';
    this.core.write(entry, { ...entry.record, fenced: entry.record.fenced + 1 });
    const batchId = part.token.slice(0, Math.max(0, part.token.indexOf('/')));
    this.core.tell({ kind: 'fenced', jobId: part.jobId, batchId });
    return 'fenced';
  }

  protected settleItem(batch: Batch, item: ItemEntry, settlement: Settlement): SettledItem {
    const { outcome, durationMs } = settlement;
    const ended = attemptRecord(settlement, batch.job.record);
    const { end, failure } = ended;
    batch.unsettled.delete(item);
    item.batch = null;
    item.final = end;
    item.attempts = [...earlierAttempts(item.attempts), ended];
    item.artifacts = keptOf(outcome);
    if (failure !== null) {
      batch.job.groups.add(failure, newFailure(item.itemId, failure, { ...settlement, kept: item.artifacts }));
    }
    this.core.write(batch.job, whenSettled(batch.job.record, settlement, batch.unsettled.size === 0));
    if (outcome.kind !== 'failed' && outcome.found !== undefined) this.addFound(batch.job, outcome.found);
    const artifacts = item.artifacts.length;
    return { seq: item.seq, itemId: item.itemId, durationMs, status: end, errorType: failure?.type ?? null, artifacts };
  }

  protected addFound(entry: JobEntry, found: Found): void {
    const wanted = wantedFinds(entry.record, [found]);
    const { items, counts } = admitFinds(entry.record, wanted, knownItems(entry, wanted.items));
    for (const item of items) appendItem(entry, item);
    this.core.write(entry, whenFound(entry.record, counts));
    if (items.length > 0) this.core.tell({ kind: 'job', job: entry.record, because: 'items' });
  }

  /** Ends a batch early: what is left of it is pending again, or cancelled if that is what became of the job. */
  protected takeBack(batch: Batch, because: ReturnCause): void {
    const { job, unsettled, hold } = batch;
    this.core.forget(batch);
    if (unsettled.size === 0) return;
    const from = hold === null ? 'queued' : 'in_progress';
    const isCancelled = statusWhenBack(from, job.record.status === 'cancelled') === 'cancelled';
    for (const item of unsettled) {
      if (isCancelled) makeCancelled(item);
      else makePending(job, item);
    }
    this.core.write(job, whenReturned(job.record, from, unsettled.size));
    const { jobId, batchId } = batch.ref;
    this.core.tell({ kind: 'returned', jobId, batchId, because, items: unsettled.size });
  }

  /** Oldest first over all jobs, so that a job with much to end cannot starve the others. */
  protected overdue({ now, queuedBefore }: DueTimes): Batch[] {
    const since = (batch: Batch) => (batch.hold === null ? batch.queuedAt : batch.hold.until);
    return [...this.core.batches.values()]
      .filter((batch) => (batch.hold === null ? batch.queuedAt < queuedBefore : batch.hold.until <= now))
      .sort((a, b) => since(a) - since(b));
  }

  /** The lease of these items ran out. */
  protected strike(batch: Batch, { begun, claimedAt }: Hold, now: number): void {
    const { suspect, job } = batch;
    const isJobCancelled = job.record.status === 'cancelled';
    const lost = { isJobCancelled, isBlameless: false, suspect, begunSeq: begun?.seq ?? null };
    const poisoned: SettledItem[] = [];
    for (const item of batch.unsettled) {
      item.strikes = strikesAfterLoss(lost, item);
      if (isPoison(item.strikes)) poisoned.push(this.settleItem(batch, item, poisonEnd(item, claimedAt, now)));
    }
    if (poisoned.length > 0) this.core.tell({ kind: 'settled', jobId: batch.ref.jobId, items: poisoned });
  }
}
