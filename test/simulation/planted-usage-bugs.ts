import { isRefusal, type JobEvent, type JobRecord, type Refusal } from '../../src/domain/job.ts';
import { whenUsed } from '../../src/domain/job-progress.ts';
import { NO_USAGE } from '../../src/domain/usage.ts';
import type { Dispatched, SettleAnswer, SettlePart } from '../../src/ports/ledger.ts';
import { MemoryJobBook } from '../support/memory/job-book.ts';
import { MemoryLeaseBook } from '../support/memory/lease-book.ts';
import { type MemoryLedger, openMemoryLedger } from '../support/memory/ledger.ts';
import { MemoryReturns } from '../support/memory/returns.ts';
import type { Plant } from './plant.ts';

/** Adds before it is known whether the item is recorded already. */
class AddsTwiceReturns extends MemoryReturns {
  protected override settleWithoutLease(part: SettlePart): SettleAnswer {
    const answer = super.settleWithoutLease(part);
    const entry = this.core.entries.get(part.jobId);
    if (answer === 'fenced' || entry === undefined) return answer;
    for (const { usage } of part.items) this.core.write(entry, whenUsed(entry.record, usage));
    return answer;
  }
}

/** Takes the report of a control, and forgets what it used. */
class FreeControls extends MemoryJobBook {
  protected override decide(job: JobRecord, event: JobEvent, now: number): JobRecord | Refusal {
    const next = super.decide(job, event, now);
    return event.kind === 'control' && !isRefusal(next) ? { ...next, usage: job.usage } : next;
  }
}

/** Adds what a control used although its report is not awaited any more. */
class AddsLateControls extends MemoryJobBook {
  override async changeJob(jobId: string, event: JobEvent, now: number): Promise<JobRecord | Refusal | 'missing'> {
    const answer = await super.changeJob(jobId, event, now);
    const entry = this.core.entries.get(jobId);
    if (event.kind !== 'control' || answer === 'missing' || !isRefusal(answer) || entry === undefined) return answer;
    this.core.write(entry, whenUsed(entry.record, event.report.usage));
    return answer;
  }
}

/** Does not check what is left. */
class SpendingLeases extends MemoryLeaseBook {
  override async dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    const entry = this.core.entries.get(jobId);
    const usage = entry?.record.usage ?? NO_USAGE;
    if (entry !== undefined) this.core.write(entry, { ...entry.record, usage: NO_USAGE });
    const answer = await super.dispatch(jobId, itemsPerBatch, now);
    if (entry !== undefined) this.core.write(entry, { ...entry.record, usage });
    return answer;
  }
}

/** The ledger of the current run, which a new controller makes forget. */
function usageInMemory(): Plant {
  let current: MemoryLedger | null = null;
  return {
    name: 'what was used is lost at a restart, and the budget with it',
    ledger: () => {
      current = openMemoryLedger();
      return current;
    },
    controller: () => {
      const entries = current?.core.entries.values() ?? [];
      for (const entry of entries) current?.core.write(entry, { ...entry.record, usage: NO_USAGE });
      return {};
    },
  };
}

/** Mistakes in what jobs use, and may use. */
export const USAGE_BUGS: readonly Plant[] = [
  {
    name: 'usage is added twice by a settle that is repeated',
    ledger: () => openMemoryLedger({ returns: AddsTwiceReturns }),
  },
  { name: 'work goes out although the budget is used up', ledger: () => openMemoryLedger({ leases: SpendingLeases }) },
  usageInMemory(),
  { name: 'what a control used is not counted', ledger: () => openMemoryLedger({ jobs: FreeControls }) },
  {
    name: 'a report of a control that is not awaited is counted',
    ledger: () => openMemoryLedger({ jobs: AddsLateControls }),
  },
];
