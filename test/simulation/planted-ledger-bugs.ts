import type { Allowance } from '../../src/domain/allowance.ts';
import { finishedOf, inFlightOf } from '../../src/domain/counts.ts';
import { isRefusal, type JobEvent, type JobRecord, type Refusal } from '../../src/domain/job.ts';
import { whenSettled } from '../../src/domain/job-progress.ts';
import type {
  ClaimAnswer,
  Dispatched,
  DueTimes,
  PageRequest,
  ReopenAnswer,
  RetryFilter,
  ReturnCause,
  SettleAnswer,
  SettledItem,
  Settlement,
  SettlePart,
} from '../../src/ports/ledger.ts';
import type { BatchRef } from '../../src/ports/work-queue.ts';
import type { Batch, Hold, ItemEntry, JobEntry } from '../support/memory/entries.ts';
import { MemoryLedger } from '../support/memory/ledger.ts';

/** Ledgers with one mistake each. */

export class UnfencedLedger extends MemoryLedger {
  protected override settleWithoutLease(part: SettlePart): SettleAnswer {
    const entry = this.entries.get(part.jobId);
    for (const settlement of part.items) {
      const item = entry?.items[settlement.seq];
      if (item?.batch) this.settleItem(item.batch, item, settlement);
    }
    return 'recorded';
  }
}

export class SameTokenLedger extends MemoryLedger {
  #given = 0;

  protected override nextToken(): string {
    this.#given += 1;
    return `token-${this.#given % 20}`;
  }
}

/** The counters are written a moment after the items: one process in twenty dies in between. */
export class CountersApartLedger extends MemoryLedger {
  #settled = 0;

  protected override settleItem(batch: Batch, item: ItemEntry, settlement: Settlement): SettledItem {
    const before = batch.job.record;
    const settled = super.settleItem(batch, item, settlement);
    this.#settled += 1;
    if (this.#settled % 20 === 0) this.write(batch.job, before);
    return settled;
  }
}

export class OneJobReaperLedger extends MemoryLedger {
  protected override overdue(times: DueTimes): Batch[] {
    const [first] = this.entries.values();
    return super.overdue(times).filter((batch) => batch.job === first);
  }
}

export class NeverLostLedger extends MemoryLedger {
  protected override overdue({ now }: DueTimes): Batch[] {
    return super.overdue({ now, queuedBefore: Number.NEGATIVE_INFINITY });
  }
}

export class EagerReaperLedger extends MemoryLedger {
  protected override overdue({ now, queuedBefore }: DueTimes): Batch[] {
    return super.overdue({ now: now + 1500, queuedBefore });
  }
}

/** Nobody looks whether the job may be completed at this moment. */
export class UnguardedCompletionLedger extends MemoryLedger {
  protected override decide(job: JobRecord, event: JobEvent, now: number): JobRecord | Refusal {
    if (event.kind === 'finish') return { ...job, finishedAt: now };
    if (event.kind === 'complete') return { ...job, status: 'completed', manifest: event.manifest };
    return super.decide(job, event, now);
  }
}

/** As it was once: a job is over with its last item, and its manifest comes when it comes. */
export class CompletedFirstLedger extends MemoryLedger {
  protected override decide(job: JobRecord, event: JobEvent, now: number): JobRecord | Refusal {
    const next = super.decide(job, event, now);
    return event.kind === 'finish' && !isRefusal(next) ? { ...next, status: 'completed', reason: null } : next;
  }
}

/** What nobody waits for any more is taken for done, though workers are still at it. */
export class HastyCompletionLedger extends UnguardedCompletionLedger {
  override async dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    const answer = await super.dispatch(jobId, itemsPerBatch, now);
    const job = this.entries.get(jobId)?.record;
    if (job?.status !== 'in_progress' || answer?.plan.kind !== 'wait') return answer;
    const isNearlyOver = finishedOf(job.counts) + inFlightOf(job.counts) === job.counts.total;
    return isNearlyOver ? { refs: [], plan: { kind: 'finish' } } : answer;
  }
}

export class NoStrikeLedger extends MemoryLedger {
  protected override strike(): void {}
}

/** Every item of a suspect batch is blamed, and not only the one that was begun. */
export class BlameAllLedger extends MemoryLedger {
  protected override strike(batch: Batch, hold: Hold, now: number): void {
    super.strike({ ...batch, suspect: false }, hold, now);
  }
}

export class ChargedReleaseLedger extends MemoryLedger {
  protected override takeBack(batch: Batch, because: ReturnCause): void {
    if (because === 'drained') for (const item of batch.unsettled) item.strikes += 1;
    super.takeBack(batch, because);
  }
}

export class ForgetfulLedger extends MemoryLedger {
  protected override takeBack(batch: Batch, because: ReturnCause): void {
    super.takeBack(batch, because);
    for (const item of batch.unsettled) batch.job.returned.delete(item);
  }
}

export class GenerousClaimLedger extends MemoryLedger {
  protected override claimOne(ref: BatchRef, worker: string, until: number, now: number): ClaimAnswer {
    const batch = this.batches.get(ref.batchId);
    if (batch?.hold && batch.hold.worker !== worker) {
      this.leases.delete(batch.hold.token);
      batch.hold = { ...batch.hold, worker, token: this.nextToken(ref) };
      this.leases.set(batch.hold.token, batch);
    }
    return super.claimOne(ref, worker, until, now);
  }
}

export class UncountedDeliveryLedger extends MemoryLedger {
  protected override countDelivery(): void {}

  protected override settleItem(batch: Batch, item: ItemEntry, settlement: Settlement): SettledItem {
    item.deliveries += 1;
    return super.settleItem(batch, item, settlement);
  }
}

export class NoCeilingLedger extends MemoryLedger {
  protected override makeBatches(entry: JobEntry, allowance: Allowance, now: number): Batch[] {
    const { tally, policy } = entry.record;
    const extra = tally.finished >= policy.circuit_breaker.min_requests ? 1 : 0;
    return super.makeBatches(entry, { ...allowance, batches: allowance.batches + extra }, now);
  }
}

/** Batches are filled up, whatever the breaker has still to learn. */
export class ImpatientLedger extends MemoryLedger {
  protected override makeBatches(entry: JobEntry, allowance: Allowance, now: number): Batch[] {
    return super.makeBatches(entry, { ...allowance, itemsPerBatch: 5 }, now);
  }
}

export class BlindBreakerLedger extends MemoryLedger {
  /** Called when a controller starts: it has kept the tally in its own memory. */
  forgetTallies(): void {
    for (const entry of this.entries.values()) {
      this.write(entry, { ...entry.record, tally: { finished: 0, failed: 0, streak: 0, stopper: null } });
    }
  }
}

export class DeafToPauseLedger extends MemoryLedger {
  override async dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    const entry = this.entries.get(jobId);
    if (entry?.record.status === 'paused') this.write(entry, { ...entry.record, status: 'in_progress' });
    return super.dispatch(jobId, itemsPerBatch, now);
  }
}

export class SameRoundLedger extends MemoryLedger {
  override async reopen(
    jobId: string,
    filter: RetryFilter,
    page: PageRequest,
    openUntil: number,
    now: number,
  ): Promise<ReopenAnswer> {
    const round = this.entries.get(jobId)?.record.round ?? 1;
    const answer = await super.reopen(jobId, filter, page, openUntil, now);
    const entry = this.entries.get(jobId);
    if (entry) this.write(entry, { ...entry.record, round });
    return answer;
  }
}

export class HalfReopenedLedger extends MemoryLedger {
  protected override reopenItem(entry: JobEntry, item: ItemEntry): void {
    entry.groups.remove(item.itemId);
    item.strikes = 0;
  }
}

export class QueuedOutliveCancelLedger extends MemoryLedger {
  protected override cancelItems(entry: JobEntry): void {
    const queued = [...entry.batches].filter((batch) => batch.hold === null);
    for (const batch of queued) entry.batches.delete(batch);
    super.cancelItems(entry);
    for (const batch of queued) entry.batches.add(batch);
  }
}

export class CountsRepetitionLedger extends MemoryLedger {
  protected override settleWithoutLease(part: SettlePart): SettleAnswer {
    const answer = super.settleWithoutLease(part);
    const entry = this.entries.get(part.jobId);
    if (answer === 'fenced' || entry === undefined) return answer;
    for (const { outcome } of part.items) {
      const counted = whenSettled(entry.record, outcome, false);
      this.write(entry, { ...counted, itemsInFlight: entry.record.itemsInFlight });
    }
    return answer;
  }
}

/** Records an item's end before it is known that the lease is lost in the middle of the part. */
export class OverwritingLedger extends MemoryLedger {
  protected override settleWithoutLease(part: SettlePart): SettleAnswer {
    const answer = super.settleWithoutLease(part);
    const entry = this.entries.get(part.jobId);
    for (const { seq, outcome } of answer === 'fenced' ? part.items : []) {
      const item = entry?.items[seq];
      if (item?.final === 'success' && outcome.kind === 'scraped') item.artifacts = outcome.artifacts;
    }
    return answer;
  }
}
