import type { ItemInput, NewItem } from '../../src/domain/item.ts';
import type { AddAnswer, ClaimAnswer } from '../../src/ports/ledger.ts';
import type { BatchRef } from '../../src/ports/work-queue.ts';
import { MemoryItemBook } from '../support/memory/item-book.ts';
import { MemoryLeaseBook } from '../support/memory/lease-book.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import type { Plant } from './plant.ts';

/** Inputs are remembered from the first delivery on, and the correction is not noticed. */
class RememberingLeases extends MemoryLeaseBook {
  readonly #inputs = new Map<string, ItemInput>();

  protected override claimOne(ref: BatchRef, worker: string, until: number, now: number): ClaimAnswer {
    const answer = super.claimOne(ref, worker, until, now);
    if (typeof answer !== 'object') return answer;
    const items = answer.items.map((item) => {
      const name = `${ref.jobId}@${answer.jobCreatedAt}/${item.itemId}`;
      const input = this.#inputs.get(name) ?? item.input;
      this.#inputs.set(name, input);
      return { ...item, input };
    });
    return { ...answer, items };
  }
}

/** The state of the item is not checked. */
class AnyStateItems extends MemoryItemBook {
  override async addItems(
    jobId: string,
    items: readonly NewItem[],
    openUntil: number,
    now: number,
  ): Promise<AddAnswer> {
    const answer = await super.addItems(jobId, items, openUntil, now);
    const entry = this.core.entries.get(jobId);
    for (const index of answer.kind === 'added' ? answer.differing : []) {
      const [corrected, item] = [items[index], entry?.byId.get(items[index]?.itemId ?? '')];
      if (item !== undefined && corrected !== undefined) item.input = corrected.input;
    }
    return answer;
  }
}

/** Mistakes in how failed items get another input. */
export const CORRECTION_BUGS: readonly Plant[] = [
  {
    name: 'a corrected item goes out with its old input',
    ledger: () => openMemoryLedger({ leases: RememberingLeases }),
  },
  {
    name: 'a correction changes the input of an item that did not fail',
    ledger: () => openMemoryLedger({ items: AnyStateItems }),
  },
];
