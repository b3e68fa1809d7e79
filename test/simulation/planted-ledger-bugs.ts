import type { Allowance } from '../../src/domain/allowance.ts';
import { EMPTY_TALLY } from '../../src/domain/breaker.ts';
import { finishedOf, inFlightOf } from '../../src/domain/counts.ts';
import { isRefusal, type JobEvent, type JobRecord, type Refusal } from '../../src/domain/job.ts';
import { whenSettled } from '../../src/domain/job-progress.ts';
import { withoutWait } from '../../src/domain/job-wait.ts';
import type {
  ClaimAnswer,
  Dispatched,
  DueTimes,
  PageRequest,
  ReopenAnswer,
  RetryFilter,
  SettleAnswer,
  SettledItem,
  Settlement,
  SettlePart,
} from '../../src/ports/ledger.ts';
import type { ReturnCause } from '../../src/ports/return-cause.ts';
import type { BatchRef } from '../../src/ports/work-queue.ts';
import type { Batch, Hold, ItemEntry, JobEntry } from '../support/memory/entries.ts';
import { MemoryItemBook } from '../support/memory/item-book.ts';
import { MemoryJobBook } from '../support/memory/job-book.ts';
import { MemoryLeaseBook } from '../support/memory/lease-book.ts';
import type { MemoryLedger } from '../support/memory/ledger.ts';
import { MemoryReturns } from '../support/memory/returns.ts';

/** Parts of a ledger with one mistake each. */

export class UnfencedReturns extends MemoryReturns {
  protected override settleWithoutLease(part: SettlePart): SettleAnswer {
    const entry = this.core.entries.get(part.jobId);
    for (const settlement of part.items) {
      const item = entry?.items[settlement.seq];
      if (item?.batch) this.settleItem(item.batch, item, settlement);
    }
    return 'recorded';
  }
}

export class SameTokenLeases extends MemoryLeaseBook {
  #given = 0;

  protected override nextToken(): string {
    this.#given += 1;
    return `token-${this.#given % 20}`;
  }
}

/** The counters are written a moment after the items: one process in twenty dies in between. */
export class CountersApartReturns extends MemoryReturns {
  #settled = 0;

  protected override settleItem(batch: Batch, item: ItemEntry, settlement: Settlement): SettledItem {
    const before = batch.job.record;
    const settled = super.settleItem(batch, item, settlement);
    this.#settled += 1;
    if (this.#settled % 20 === 0) this.core.write(batch.job, before);
    return settled;
  }
}

export class OneJobReaperReturns extends MemoryReturns {
  protected override overdue(times: DueTimes): Batch[] {
    const [first] = this.core.entries.values();
    return super.overdue(times).filter((batch) => batch.job === first);
  }
}

export class NeverLostReturns extends MemoryReturns {
  protected override overdue({ now }: DueTimes): Batch[] {
    return super.overdue({ now, queuedBefore: Number.NEGATIVE_INFINITY });
  }
}

export class EagerReaperReturns extends MemoryReturns {
  protected override overdue({ now, queuedBefore }: DueTimes): Batch[] {
    return super.overdue({ now: now + 1500, queuedBefore });
  }
}

/** It is not checked whether the job may be completed at this moment. */
export class UnguardedCompletionJobs extends MemoryJobBook {
  protected override decide(job: JobRecord, event: JobEvent, now: number): JobRecord | Refusal {
    if (event.kind === 'finish') return { ...job, finishedAt: now };
    if (event.kind === 'complete') return { ...job, status: 'completed', manifest: event.manifest };
    return super.decide(job, event, now);
  }
}

/** An earlier version: a job is over with its last item, and its manifest follows at some later time. */
export class CompletedFirstJobs extends MemoryJobBook {
  protected override decide(job: JobRecord, event: JobEvent, now: number): JobRecord | Refusal {
    const next = super.decide(job, event, now);
    return event.kind === 'finish' && !isRefusal(next) ? { ...next, status: 'completed', reason: null } : next;
  }
}

/** What is no longer waited for is taken for done, though workers are still working on it. */
export class HastyLeases extends MemoryLeaseBook {
  override async dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    const answer = await super.dispatch(jobId, itemsPerBatch, now);
    const job = this.core.entries.get(jobId)?.record;
    if (job?.status !== 'in_progress' || answer?.plan.kind !== 'wait') return answer;
    const isNearlyOver = finishedOf(job.counts) + inFlightOf(job.counts) === job.counts.total;
    return isNearlyOver ? { refs: [], plan: { kind: 'finish' } } : answer;
  }
}

export class NoStrikeReturns extends MemoryReturns {
  protected override strike(): void {}
}

/** Every item of a suspect batch is blamed, and not only the one that was begun. */
export class BlameAllReturns extends MemoryReturns {
  protected override strike(batch: Batch, hold: Hold, now: number): void {
    super.strike({ ...batch, suspect: false }, hold, now);
  }
}

export class ChargedReleaseReturns extends MemoryReturns {
  protected override takeBack(batch: Batch, because: ReturnCause): void {
    if (because === 'drained') for (const item of batch.unsettled) item.strikes += 1;
    super.takeBack(batch, because);
  }
}

export class ForgetfulReturns extends MemoryReturns {
  protected override takeBack(batch: Batch, because: ReturnCause): void {
    super.takeBack(batch, because);
    for (const item of batch.unsettled) batch.job.returned.delete(item);
  }
}

export class GenerousClaimLeases extends MemoryLeaseBook {
  protected override claimOne(ref: BatchRef, worker: string, until: number, now: number): ClaimAnswer {
    const batch = this.core.batches.get(ref.batchId);
    if (batch?.hold && batch.hold.worker !== worker) {
      this.core.leases.delete(batch.hold.token);
      batch.hold = { ...batch.hold, worker, token: this.nextToken(ref) };
      this.core.leases.set(batch.hold.token, batch);
    }
    return super.claimOne(ref, worker, until, now);
  }
}

export class UncountedLeases extends MemoryLeaseBook {
  protected override countDelivery(): void {}
}

export class LateCountReturns extends MemoryReturns {
  protected override settleItem(batch: Batch, item: ItemEntry, settlement: Settlement): SettledItem {
    item.deliveries += 1;
    return super.settleItem(batch, item, settlement);
  }
}

const NO_LIMIT = Number.POSITIVE_INFINITY;

export class NoCeilingLeases extends MemoryLeaseBook {
  protected override makeBatches(entry: JobEntry, allowance: Allowance, now: number): Batch[] {
    const { tally, policy } = entry.record;
    const extra = tally.finished >= policy.circuit_breaker.min_requests ? 1 : 0;
    return super.makeBatches(entry, { ...allowance, batches: allowance.batches + extra, items: NO_LIMIT }, now);
  }
}

/** Batches are filled up, regardless of what the breaker has still to learn. */
export class ImpatientLeases extends MemoryLeaseBook {
  protected override makeBatches(entry: JobEntry, allowance: Allowance, now: number): Batch[] {
    return super.makeBatches(entry, { ...allowance, itemsPerBatch: 5, items: NO_LIMIT }, now);
  }
}

/** Called when a controller starts: it has kept the tally in its own memory. */
export function forgetTallies({ core }: MemoryLedger): void {
  for (const entry of core.entries.values()) {
    core.write(entry, { ...entry.record, tally: EMPTY_TALLY });
  }
}

export class DeafToPauseLeases extends MemoryLeaseBook {
  override async dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    const entry = this.core.entries.get(jobId);
    if (entry?.record.status === 'paused') this.core.write(entry, { ...entry.record, status: 'in_progress' });
    return super.dispatch(jobId, itemsPerBatch, now);
  }
}

export class DeafToHostsLeases extends MemoryLeaseBook {
  override async dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    const entry = this.core.entries.get(jobId);
    if (entry !== undefined) this.core.write(entry, withoutWait(entry.record));
    return super.dispatch(jobId, itemsPerBatch, now);
  }
}

export class SameRoundItems extends MemoryItemBook {
  override async reopen(
    jobId: string,
    filter: RetryFilter,
    page: PageRequest,
    openUntil: number,
    now: number,
  ): Promise<ReopenAnswer> {
    const round = this.core.entries.get(jobId)?.record.round ?? 1;
    const answer = await super.reopen(jobId, filter, page, openUntil, now);
    const entry = this.core.entries.get(jobId);
    if (entry) this.core.write(entry, { ...entry.record, round });
    return answer;
  }
}

export class UngroupedRetryItems extends MemoryItemBook {
  override async reopen(
    jobId: string,
    filter: RetryFilter,
    page: PageRequest,
    openUntil: number,
    now: number,
  ): Promise<ReopenAnswer> {
    return super.reopen(jobId, { ...filter, groupKeys: null }, page, openUntil, now);
  }
}

export class HalfReopenedItems extends MemoryItemBook {
  protected override reopenItem(entry: JobEntry, item: ItemEntry): void {
    entry.groups.remove(item.itemId);
    item.strikes = 0;
  }
}

export class QueuedOutliveCancelJobs extends MemoryJobBook {
  protected override cancelItems(entry: JobEntry): void {
    const queued = [...entry.batches].filter((batch) => batch.hold === null);
    for (const batch of queued) entry.batches.delete(batch);
    super.cancelItems(entry);
    for (const batch of queued) entry.batches.add(batch);
  }
}

export class CountsRepetitionReturns extends MemoryReturns {
  protected override settleWithoutLease(part: SettlePart): SettleAnswer {
    const answer = super.settleWithoutLease(part);
    const entry = this.core.entries.get(part.jobId);
    if (answer === 'fenced' || entry === undefined) return answer;
    for (const settlement of part.items) {
      const counted = whenSettled(entry.record, settlement, false);
      this.core.write(entry, { ...counted, itemsInFlight: entry.record.itemsInFlight });
    }
    return answer;
  }
}

/** Records an item's end before it is known that the lease is lost in the middle of the part. */
export class OverwritingReturns extends MemoryReturns {
  protected override settleWithoutLease(part: SettlePart): SettleAnswer {
    const answer = super.settleWithoutLease(part);
    const entry = this.core.entries.get(part.jobId);
    for (const { seq, outcome } of answer === 'fenced' ? part.items : []) {
      const item = entry?.items[seq];
      if (item?.final === 'success' && outcome.kind === 'scraped') item.artifacts = outcome.artifacts;
    }
    return answer;
  }
}
