import type { ChunkItem } from './chunk.ts';
import { type CountedFailure, groupKeyOf } from './failure-groups.ts';
import { chunkOf } from './keys.ts';

/** Which failed items go into one transaction: a chunk is so many actions, whatever the number of its items, and a group of failures one. */
export class TransactionRoom {
  readonly #actionsPerChunk: number;
  readonly #chunks = new Set<number>();
  readonly #groups = new Set<string>();

  constructor(actionsPerChunk: number) {
    this.#actionsPerChunk = actionsPerChunk;
  }

  /** False if there is no room for it any more. The first always has some. */
  takes(item: ChunkItem): boolean {
    const chunk = chunkOf(item.record.seq);
    const group = failureOf(item).map(groupKeyOf).at(0);
    const chunks = this.#chunks.size + Number(!this.#chunks.has(chunk));
    const groups = this.#groups.size + Number(group !== undefined && !this.#groups.has(group));
    if (this.#actionsPerChunk * chunks + groups > MOST_ACTIONS) return false;
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
