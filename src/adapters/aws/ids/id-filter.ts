import { BloomFilter } from '../../../domain/bloom-filter.ts';

/**
 * What is kept of a table when memory is short: says whether a hash is certainly not among these, or may be (wrong
 * about once in five thousand). A Bloom filter with two and a half bytes per entry.
 */
export class IdFilter extends BloomFilter {
  constructor(hashes: Iterable<number>, entries: number) {
    super({ bits: entries * BITS_PER_ENTRY, probes: PROBES });
    for (const hash of hashes) this.add(hash);
  }
}

const BITS_PER_ENTRY = 20;
const PROBES = 8;
