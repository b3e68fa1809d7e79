/**
 * Says whether a 32-bit hash was certainly never added, or may have been. With 16 bits per entry and 6 probes it is
 * wrong about once in a thousand, with 20 and 8 about once in five thousand.
 */
export class BloomFilter {
  readonly #words: Uint32Array;
  readonly #bits: number;
  readonly #probes: number;

  constructor({ bits, probes }: { readonly bits: number; readonly probes: number }) {
    this.#words = new Uint32Array(Math.max(1, Math.ceil(bits / 32)));
    this.#bits = this.#words.length * 32;
    this.#probes = probes;
  }

  add(hash: number): void {
    const stride = strideOf(hash);
    let probe = hash >>> 0;
    for (let count = 0; count < this.#probes; count += 1) {
      const bit = this.#bitOf(probe);
      this.#words[bit >>> 5] = (this.#words[bit >>> 5] ?? 0) | (1 << (bit & 31));
      probe = (probe + stride) >>> 0;
    }
  }

  mayHave(hash: number): boolean {
    const stride = strideOf(hash);
    let probe = hash >>> 0;
    for (let count = 0; count < this.#probes; count += 1) {
      const bit = this.#bitOf(probe);
      if (((this.#words[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
      probe = (probe + stride) >>> 0;
    }
    return true;
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  #bitOf(probe: number): number {
    return Math.floor((probe * this.#bits) / 2 ** 32);
  }
}

/** The second of the two numbers that all probes are derived from. It is odd, so that probes do not repeat early. */
function strideOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) | 1;
}
