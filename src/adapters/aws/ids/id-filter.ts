import { BloomFilter } from '../../../domain/bloom-filter.ts';

/**
 * What is kept of a table when memory is short: says of a hash that it is certainly not among these, or that it may be
 * (about once in five thousand when it is not). A Bloom filter of two and a half bytes an entry.
 */
export class IdFilter extends BloomFilter {
  constructor(hashes: Iterable<number>, entries: number) {
    super({ bits: entries * BITS_PER_ENTRY, probes: PROBES });
    for (const hash of hashes) this.add(hash);
  }
}

const BITS_PER_ENTRY = 20;
const PROBES = 8;
