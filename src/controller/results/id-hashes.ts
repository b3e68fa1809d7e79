/**
 * Finds duplicates among any number of ids, in eight bytes each: it keeps a 64-bit hash of every id. Two ids with the same
 * hash are only suspects; among ten million distinct ids the odds of one such pair are three in a million, and reading the
 * ids a second time settles it.
 */
export class IdHashes {
  #hashes = new BigUint64Array(1024);
  #count = 0;

  /** `hash`: the first 16 hex digits of the id's SHA-256. */
  add(hash: string): void {
    if (this.#count === this.#hashes.length) {
      const larger = new BigUint64Array(this.#hashes.length * 2);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    this.#hashes[this.#count] = BigInt(`0x${hash}`);
    this.#count += 1;
  }

  /** The hashes that occur more than once, as they were given; at most `max`. */
  repeated(max: number): ReadonlySet<string> {
    const sorted = this.#hashes.subarray(0, this.#count).sort();
    const found = new Set<string>();
    for (let at = 1; at < sorted.length && found.size < max; at += 1) {
      if (sorted[at] === sorted[at - 1]) found.add((sorted[at] ?? 0n).toString(16).padStart(16, '0'));
    }
    return found;
  }
}
