import { BloomFilter } from '../../../domain/bloom-filter.ts';

/**
 * Says whether a hash was certainly never added, or may have been (wrong about once in a thousand): a Bloom filter that
 * grows by layers, with two bytes per entry. An import of millions asks it instead of the disk.
 */
export class IdFilter {
  readonly #layers: Layer[] = [];

  /** False if it may have been there before. */
  add(hash: number): boolean {
    for (const { filter } of this.#layers) if (filter.mayHave(hash)) return false;
    let last = this.#layers.at(-1);
    if (last === undefined || last.room === 0) {
      last = newLayer(last === undefined ? FIRST_LAYER_BITS : Math.min(last.size + 2, LARGEST_LAYER_BITS));
      this.#layers.push(last);
    }
    last.filter.add(hash);
    last.room -= 1;
    return true;
  }

  get bytes(): number {
    return this.#layers.reduce((sum, { filter }) => sum + filter.bytes, 0);
  }
}

const FIRST_LAYER_BITS = 17;
const LARGEST_LAYER_BITS = 30;
const BITS_PER_ENTRY = 16;
const PROBES = 6;

interface Layer {
  /** It has 2 to the power of this many bits. */
  readonly size: number;
  readonly filter: BloomFilter;
  room: number;
}

function newLayer(size: number): Layer {
  const bits = 2 ** size;
  return { size, filter: new BloomFilter({ bits, probes: PROBES }), room: bits / BITS_PER_ENTRY };
}
