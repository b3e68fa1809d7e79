import type { ComparisonTallyAnswer } from '../../contract/extraction-answers.ts';
import type { ItemRecord } from '../../domain/item.ts';
import type { JobRecord } from '../../domain/job.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { ItemBook, JobBook } from '../../ports/ledger.ts';
import { currentItems } from '../results/current-items.ts';
import { itemsAlike } from '../results/items-alike.ts';
import { ReadLimiter } from '../results/read-limiter.ts';
import { ChangeTally } from './change-tally.ts';
import { type CompareDeps, dataOf, differences } from './compare-data.ts';
import type { FieldDifference } from './field-differences.ts';

const PAGE = 200;
const MAX_EXAMPLES = 10;
const SUCCESSES = { status: 'success', errorType: null } as const;

/** Counts what differs between two jobs. Its size does not depend on the number of items. */
export class ComparisonTally {
  readonly #changes = new ChangeTally();
  readonly #appeared = new Examples();
  readonly #vanished = new Examples();
  #examined = 0;

  /** An item that has data in both jobs. */
  addCommon(itemId: string, found: readonly FieldDifference[]): void {
    this.#examined += 1;
    this.#changes.add(itemId, found);
  }

  /** An item that has data in the newer job only. */
  addAppeared(itemId: string): void {
    this.#examined += 1;
    this.#appeared.add(itemId);
  }

  /** An item with data in the older job. It may already have been counted with its data in the newer one. */
  addOlder(itemId: string, isVanished: boolean): void {
    this.#examined += 1;
    if (isVanished) this.#vanished.add(itemId);
  }

  result(): ComparisonTallyAnswer {
    const { compared, changed, fields } = this.#changes.result();
    return {
      ...{ examined: this.#examined, compared, changed, fields },
      ...{ appeared: this.#appeared.count, vanished: this.#vanished.count },
      ...{ appeared_examples: [...this.#appeared.ids], vanished_examples: [...this.#vanished.ids] },
    };
  }
}

class Examples {
  count = 0;
  readonly ids: string[] = [];

  add(itemId: string): void {
    this.count += 1;
    if (this.ids.length < MAX_EXAMPLES) this.ids.push(itemId);
  }
}

interface CompareJobsDeps extends CompareDeps {
  readonly ledger: JobBook & ItemBook;
}

/**
 * Compares the current data of two jobs item by item, whatever the order of their items. Data with the same SHA-256 are
 * not read. False if it was stopped.
 */
export async function compareJobs(
  deps: CompareJobsDeps,
  newer: JobRecord,
  older: JobRecord,
  tally: ComparisonTally,
  stop: AbortSignal,
): Promise<boolean> {
  const { ledger, store, clock } = deps;
  const [now, before] = [currentItems(ledger, newer), currentItems(ledger, older)];
  const reads = new ReadLimiter();
  for await (const page of successes(now, newer.jobId)) {
    if (stop.aborted) return false;
    const alike = await itemsAlike(before, older.jobId, idsOf(page));
    const found = new Map<string, readonly FieldDifference[]>();
    for (const item of page) {
      const [was, is] = [dataOf(alike.get(item.itemId)), dataOf(item)];
      if (!isSuccess(alike.get(item.itemId)) || was?.sha256 === is?.sha256) continue;
      await reads.start((was?.size ?? 0) + (is?.size ?? 0), async () => {
        found.set(item.itemId, await differences(store, was, is));
      });
    }
    await reads.idle();
    for (const id of idsOf(page)) {
      if (isSuccess(alike.get(id))) tally.addCommon(id, found.get(id) ?? []);
      else tally.addAppeared(id);
    }
    await clock.turn();
  }
  for await (const page of successes(before, older.jobId)) {
    if (stop.aborted) return false;
    const alike = await itemsAlike(now, newer.jobId, idsOf(page));
    for (const id of idsOf(page)) tally.addOlder(id, !isSuccess(alike.get(id)));
    await clock.turn();
  }
  return true;
}

async function* successes(items: Pick<ItemBook, 'items'>, jobId: string): AsyncGenerator<readonly ItemRecord[]> {
  const read = (after: string | null) => items.items(jobId, SUCCESSES, { after, limit: PAGE });
  for await (const page of walkPages(read)) yield page.entries;
}

function idsOf(page: readonly ItemRecord[]): string[] {
  return page.map(({ itemId }) => itemId);
}

function isSuccess(item: ItemRecord | undefined): boolean {
  return item?.status === 'success';
}
