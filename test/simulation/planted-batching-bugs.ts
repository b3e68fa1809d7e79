import type { PendingRun } from '../../src/domain/batching.ts';
import type { ItemEntry, JobEntry } from '../support/memory/entries.ts';
import { MemoryLeaseBook } from '../support/memory/lease-book.ts';

/** Batches by group, with one mistake each. */

/** Batches have the size that the job wants, and groups are ignored. */
export class MixedGroupLeases extends MemoryLeaseBook {
  protected override runsOf(entry: JobEntry, kind: PendingRun['kind'], items: readonly ItemEntry[]) {
    const { batching, ...record } = entry.record;
    return super.runsOf({ ...entry, record }, kind, items);
  }
}

/** What waits for a host goes out with the others. */
export class DeafToHoldsLeases extends MemoryLeaseBook {
  protected override isHeldNow(): boolean {
    return false;
  }
}

/** What came back last goes out first. */
export class DisorderedGroupLeases extends MemoryLeaseBook {
  protected override runsOf(entry: JobEntry, kind: PendingRun['kind'], items: readonly ItemEntry[]) {
    const runs = super.runsOf(entry, kind, items);
    if (kind !== 'fresh') for (const { waiting } of runs) waiting.reverse();
    return runs;
  }
}
