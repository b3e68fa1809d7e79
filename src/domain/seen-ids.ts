import type { Digest } from './artifact.ts';
import { canonicalJson } from './canonical-json.ts';
import type { NewItem } from './item.ts';

/** An item whose id occurred before. */
export interface SeenBefore {
  /** Line of the first item with that id. */
  readonly firstLine: number;
  readonly differs: boolean;
}

/**
 * Which ids of a list occurred before, and whether with another input, in 16 bytes each: only hashes are stored. Two of
 * a million ids have the same 64 bits by accident once in thirty million lists. In a list longer than `maxIds`, later
 * ids are only compared with that many.
 */
export class SeenIds {
  readonly #digest: Digest;
  readonly #maxIds: number;
  /**
   * Four numbers per entry: two for the id's hash, one for the input's, and the line; a line of 0 marks a free entry.
   */
  #table = new Uint32Array(4 * 1024);
  #count = 0;

  constructor(digest: Digest, maxIds = MAX_IDS) {
    this.#digest = digest;
    this.#maxIds = maxIds;
  }

  /** Ids that later ones are compared with. */
  get count(): number {
    return this.#count;
  }

  /** Null for an id that has not occurred before. */
  add({ itemId, input }: NewItem, line: number): SeenBefore | null {
    const [high, low] = this.#hash(itemId);
    const [inputHash] = this.#hash(canonicalJson(input));
    const place = placeIn(this.#table, high, low);
    const firstLine = this.#table[place + 3] ?? 0;
    if (firstLine > 0) return { firstLine, differs: this.#table[place + 2] !== inputHash };
    if (this.#count >= this.#maxIds) return null;
    this.#table.set([high, low, inputHash, line], place);
    this.#count += 1;
    // Kept half empty, so that searches stay short.
    if (this.#count * 8 > this.#table.length) this.#grow();
    return null;
  }

  #hash(text: string): readonly [number, number] {
    const hex = this.#digest(text);
    return [Number.parseInt(hex.slice(0, 8), 16), Number.parseInt(hex.slice(8, 16), 16)];
  }

  #grow(): void {
    const old = this.#table;
    this.#table = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += 4) {
      if (old[at + 3] === 0) continue;
      this.#table.set(old.subarray(at, at + 4), placeIn(this.#table, old[at] ?? 0, old[at + 1] ?? 0));
    }
  }
}

/** 128 MiB, and as much again while the table grows. */
const MAX_IDS = 4_000_000;

/** The entry of the id, or the free one where it would go. */
function placeIn(table: Uint32Array, high: number, low: number): number {
  const mask = table.length / 4 - 1;
  for (let slot = low & mask; ; slot = (slot + 1) & mask) {
    const at = slot * 4;
    if (table[at + 3] === 0 || (table[at] === high && table[at + 1] === low)) return at;
  }
}
