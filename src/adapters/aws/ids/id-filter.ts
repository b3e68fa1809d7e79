/**
 * What is kept of a table when memory is short: says of a hash that it is certainly not among these, or that it may be
 * (about once in five thousand when it is not). A Bloom filter of two and a half bytes an entry.
 */
export class IdFilter {
  readonly #words: Uint32Array;
  readonly #bits: number;

  constructor(hashes: Iterable<number>, entries: number) {
    this.#words = new Uint32Array(Math.max(1, Math.ceil((entries * BITS_PER_ENTRY) / 32)));
    this.#bits = this.#words.length * 32;
    for (const hash of hashes) this.#add(hash);
  }

  mayHave(hash: number): boolean {
    const stride = strideOf(hash);
    let probe = hash;
    for (let count = 0; count < PROBES; count += 1) {
      const bit = this.#bitOf(probe);
      if (((this.#words[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
      probe = (probe + stride) >>> 0;
    }
    return true;
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  #add(hash: number): void {
    const stride = strideOf(hash);
    let probe = hash;
    for (let count = 0; count < PROBES; count += 1) {
      const bit = this.#bitOf(probe);
      this.#words[bit >>> 5] = (this.#words[bit >>> 5] ?? 0) | (1 << (bit & 31));
      probe = (probe + stride) >>> 0;
    }
  }

  #bitOf(probe: number): number {
    return Math.floor((probe * this.#bits) / 2 ** 32);
  }
}

const BITS_PER_ENTRY = 20;
const PROBES = 8;

/** The second of the two numbers from which all probes are made. Odd, so that they do not meet early. */
function strideOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) | 1;
}
