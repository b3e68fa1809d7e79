import type { LeasedItem } from '../../../ports/ledger.ts';
import type { Table } from '../dynamo/table.ts';
import { readInputs } from './chunk.ts';
import { type BatchName, batchIdOf } from './keys.ts';

/**
 * The ids of items in flight. The worker that settles a batch is nearly always the one that claimed it, including its
 * inputs, so the ids need not be read a second time.
 */
export class ItemNames {
  readonly #table: Table;
  readonly #byBatch = new Map<string, ReadonlyMap<number, string>>();

  constructor(table: Table) {
    this.#table = table;
  }

  remember(name: BatchName, items: readonly LeasedItem[]): void {
    const [oldest] = this.#byBatch.keys();
    if (this.#byBatch.size >= MOST_BATCHES && oldest !== undefined) this.#byBatch.delete(oldest);
    this.#byBatch.set(batchIdOf(name), new Map(items.map(({ seq, itemId }) => [seq, itemId])));
  }

  async of(name: BatchName, seqs: readonly number[]): Promise<ReadonlyMap<number, string>> {
    const known = this.#byBatch.get(batchIdOf(name));
    if (known !== undefined && seqs.every((seq) => known.has(seq))) return known;
    const inputs = await readInputs(this.#table, name.inc, seqs);
    return new Map([...inputs].map(([seq, { itemId }]) => [seq, itemId]));
  }
}

/** Some kilobytes each. */
const MOST_BATCHES = 1000;
