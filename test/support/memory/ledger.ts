import { MAX_HISTORY, MAX_STRIKES, otherVersion } from '../../../src/domain/item.ts';
import { finalStatusOf, whenReturned, whenSettled } from '../../../src/domain/job-progress.ts';
import { keptOf } from '../../../src/domain/outcome.ts';
import { poisonEnd } from '../../../src/domain/poison.ts';
import type {
  DueTimes,
  Ledger,
  ReleaseCause,
  ReturnCause,
  SettleAnswer,
  SettledItem,
  Settlement,
  SettlePart,
} from '../../../src/ports/ledger.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import { type Batch, type Hold, type ItemEntry, makeCancelled, makePending } from './entries.ts';
import { MemoryLeaseBook } from './lease-book.ts';

/**
 * The ledger as plain as it can be: the reference that every other adapter is compared with, and the store of most
 * simulations. The books are its base classes; here is how work comes back.
 */
export class MemoryLedger extends MemoryLeaseBook implements Ledger {
  settle(parts: readonly SettlePart[], _now: number): Promise<readonly SettleAnswer[]> {
    return this.step(() => parts.map((part) => this.settlePart(part)));
  }

  release(token: string, because: ReleaseCause, _now: number): Promise<boolean> {
    return this.step(() => {
      const batch = this.held(token);
      if (batch === undefined) return false;
      this.takeBack(batch, because);
      return true;
    });
  }

  recall(refs: readonly BatchRef[], _now: number): Promise<number> {
    return this.step(() => {
      let recalled = 0;
      for (const ref of refs) {
        const batch = this.batches.get(ref.batchId);
        if (batch === undefined || batch.hold !== null) continue;
        this.takeBack(batch, 'recalled');
        recalled += 1;
      }
      return recalled;
    });
  }

  expire(readTimes: () => DueTimes | null, limit: number): Promise<{ leases: number; queued: number }> {
    return this.step(() => {
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
    const batch = this.held(part.token);
    if (batch === undefined) return this.settleWithoutLease(part);
    const settled: SettledItem[] = [];
    for (const settlement of part.items) {
      const item = batch.job.items[settlement.seq];
      // Not in the batch any more: recorded by an earlier part, or cancelled. Either way it is final.
      if (item === undefined || !batch.unsettled.has(item)) continue;
      settled.push(this.settleItem(batch, item, settlement));
    }
    if (settled.length > 0) this.tell({ kind: 'settled', jobId: part.jobId, items: settled });
    if (batch.unsettled.size === 0) this.forget(batch);
    return 'recorded';
  }

  protected settleWithoutLease(part: SettlePart): SettleAnswer {
    const entry = this.entries.get(part.jobId);
    if (entry === undefined) return 'fenced';
    if (part.items.every((settlement) => isRecorded(entry.items[settlement.seq], settlement))) return 'recorded';
    this.write(entry, { ...entry.record, fenced: entry.record.fenced + 1 });
    const batchId = part.token.slice(0, Math.max(0, part.token.indexOf('/')));
    this.tell({ kind: 'fenced', jobId: part.jobId, batchId });
    return 'fenced';
  }

  protected settleItem(batch: Batch, item: ItemEntry, settlement: Settlement): SettledItem {
    const { outcome, attempt, tries, startedAt, durationMs } = settlement;
    const end = finalStatusOf(outcome);
    const failed = outcome.kind === 'failed' ? outcome.failure : null;
    const version = otherVersion(settlement, batch.job.record);
    const ended = { attempt, tries, startedAt, durationMs, end, failure: failed, ...version };
    batch.unsettled.delete(item);
    item.batch = null;
    item.final = end;
    item.attempts = [...item.attempts, ended].slice(-MAX_HISTORY);
    item.artifacts = keptOf(outcome);
    if (failed !== null) batch.job.groups.add(item.itemId, failed);
    this.write(batch.job, whenSettled(batch.job.record, outcome, batch.unsettled.size === 0));
    const artifacts = item.artifacts.length;
    return { seq: item.seq, itemId: item.itemId, durationMs, status: end, errorType: failed?.type ?? null, artifacts };
  }

  /** Ends a batch early: what is left of it is pending again, or cancelled if that is what became of the job. */
  protected takeBack(batch: Batch, because: ReturnCause): void {
    const { job, unsettled, hold } = batch;
    this.forget(batch);
    if (unsettled.size === 0) return;
    for (const item of unsettled) {
      if (job.record.status === 'cancelled') makeCancelled(item);
      else makePending(job, item);
    }
    this.write(job, whenReturned(job.record, hold === null ? 'queued' : 'in_progress', unsettled.size));
    const { jobId, batchId } = batch.ref;
    this.tell({ kind: 'returned', jobId, batchId, because, items: unsettled.size });
  }

  /** Oldest first over all jobs, so that a job with much to end cannot starve the others. */
  protected overdue({ now, queuedBefore }: DueTimes): Batch[] {
    const since = (batch: Batch) => (batch.hold === null ? batch.queuedAt : batch.hold.until);
    return [...this.batches.values()]
      .filter((batch) => (batch.hold === null ? batch.queuedAt < queuedBefore : batch.hold.until <= now))
      .sort((a, b) => since(a) - since(b));
  }

  /** A worker went silent with these items in its hands. In a cancelled job there is nothing to find out any more. */
  protected strike(batch: Batch, hold: Hold, now: number): void {
    if (batch.job.record.status === 'cancelled') return;
    const poisoned: SettledItem[] = [];
    for (const item of batch.unsettled) {
      if (batch.suspect && hold.begun !== item) continue;
      item.strikes += 1;
      if (item.strikes >= MAX_STRIKES)
        poisoned.push(this.settleItem(batch, item, poisonEnd(item, hold.claimedAt, now)));
    }
    if (poisoned.length > 0) this.tell({ kind: 'settled', jobId: batch.ref.jobId, items: poisoned });
  }
}

export function openMemoryLedger(): MemoryLedger {
  return new MemoryLedger();
}

/** Poison is what the ledger itself records of an attempt; whoever then says how that attempt ended comes too late. */
function isRecorded(item: ItemEntry | undefined, { attempt }: Settlement): boolean {
  return item?.attempts.some((one) => one.attempt === attempt && one.failure?.type !== 'poison') ?? false;
}
