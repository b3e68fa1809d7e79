import type { Row } from '../dynamo/attributes.ts';
import { rowBytes } from '../dynamo/row-size.ts';
import type { ChunkItem } from './chunk.ts';
import { type CountedFailure, groupKeyOf } from './failure-groups.ts';
import { chunkOf } from './keys.ts';

/**
 * Which failed items fit into one transaction: a chunk takes a fixed number of actions, whatever the number of its
 * items, and a group of failures one.
 */
export class TransactionRoom {
  readonly #actionsPerChunk: number;
  readonly #chunks = new Set<number>();
  readonly #groups = new Set<string>();
  #rows = 0;
  #bytes = 0;

  constructor(actionsPerChunk: number) {
    this.#actionsPerChunk = actionsPerChunk;
  }

  /** False if there is no room for it any more. The first always fits. `rows`: what is written for this item alone. */
  takes(item: ChunkItem, rows: readonly Row[] = []): boolean {
    const chunk = chunkOf(item.record.seq);
    const group = failureOf(item).map(groupKeyOf).at(0);
    const chunks = this.#chunks.size + Number(!this.#chunks.has(chunk));
    const groups = this.#groups.size + Number(group !== undefined && !this.#groups.has(group));
    const size = this.#bytes + rows.reduce((sum, row) => sum + rowBytes(row), 0);
    const actions = this.#actionsPerChunk * chunks + groups + this.#rows + rows.length;
    if (this.#chunks.size > 0 && (actions > MOST_ACTIONS || size > MOST_BYTES)) return false;
    this.#rows += rows.length;
    this.#bytes = size;
    this.#chunks.add(chunk);
    if (group !== undefined) this.#groups.add(group);
    return true;
  }
}

export function failureOf({ record: { itemId }, last }: ChunkItem): readonly CountedFailure[] {
  return last?.failure === undefined ? [] : [{ itemId, failure: last.failure, isOther: last.isOther ?? false }];
}

/** Out of the hundred of a transaction; the others are for the job itself and the lists it is in. */
const MOST_ACTIONS = 88;
/** A transaction may have four megabytes on the wire. */
const MOST_BYTES = 2_500_000;
