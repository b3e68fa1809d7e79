import { newFailure } from '../../src/domain/failure-group.ts';
import type { RecoveredItem } from '../../src/domain/item.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import type { ItemEntry, JobEntry } from '../support/memory/entries.ts';
import { MemoryItemBook } from '../support/memory/item-book.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import type { ControllerPorts, Plant } from './plant.ts';

/** Mistakes in how failed items become successes. */
export const RECOVERY_BUGS: readonly Plant[] = [
  {
    name: 'a recovered item is still counted among the failures',
    ledger: () => openMemoryLedger({ items: StillGroupedItems }),
  },
  { name: 'a recovery is over before its items are recovered', controller: recoversNothing },
];

class StillGroupedItems extends MemoryItemBook {
  protected override recoverItem(entry: JobEntry, item: ItemEntry, recovered: RecoveredItem): void {
    const last = item.attempts.at(-1);
    super.recoverItem(entry, item, recovered);
    const failure = last?.failure;
    if (failure) entry.groups.add(failure, newFailure(item.itemId, failure, { ...last, kept: [] }));
  }
}

function recoversNothing({ ledger }: ControllerPorts): Partial<ControllerPorts> {
  const recover: Ledger['recover'] = async (_jobId, _by, items) => ({
    kind: 'recovered',
    taken: items.length,
    items: 0,
  });
  return { ledger: { ...ledger, recover } };
}
