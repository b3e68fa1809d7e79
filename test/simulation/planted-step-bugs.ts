import { newFailure } from '../../src/domain/failure-group.ts';
import type { SettledItem, Settlement } from '../../src/ports/ledger.ts';
import type { Batch, ItemEntry } from '../support/memory/entries.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { MemoryReturns } from '../support/memory/returns.ts';
import type { Plant } from './plant.ts';

/** Counts a failure without the step at which it was seen. */
class SteplessReturns extends MemoryReturns {
  protected override settleItem(batch: Batch, item: ItemEntry, settlement: Settlement): SettledItem {
    const settled = super.settleItem(batch, item, settlement);
    const { outcome } = settlement;
    if (outcome.kind !== 'failed') return settled;
    const { step: _, ...failure } = outcome.failure;
    batch.job.groups.remove(item.itemId);
    batch.job.groups.add(failure, newFailure(item.itemId, failure, { ...settlement, kept: item.artifacts }));
    return settled;
  }
}

/** Mistakes in what a job says about the steps of its recording. */
export const STEP_BUGS: readonly Plant[] = [
  {
    name: 'a failure is counted without its step',
    ledger: () => openMemoryLedger({ returns: SteplessReturns }),
  },
];
