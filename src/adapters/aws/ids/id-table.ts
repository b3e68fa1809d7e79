import { partOf } from './id-run.ts';

/**
 * Entries of a run, or of a part of one, in the order of their hashes: eight bytes each, the place and the hash, low
 * bytes first as on every machine on which this runs. Read as one number, an entry sorts by its hash.
 */
export class IdTable {
  /** Place, hash, place, hash … */
  readonly #words: Uint32Array<ArrayBuffer>;

  private constructor(words: Uint32Array<ArrayBuffer>) {
    this.#words = words;
  }

  static of(hashes: Uint32Array, firstSeq: number): IdTable {
    const words = new Uint32Array(2 * hashes.length);
    for (const [index, hash] of hashes.entries()) {
      words[2 * index] = firstSeq + index;
      words[2 * index + 1] = hash;
    }
    return new IdTable(sort(words));
  }

  /** From all parts of a run in their order, or from one of them. */
  static fromParts(parts: readonly Uint8Array[]): IdTable {
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
    let at = 0;
    for (const part of parts) {
      bytes.set(part, at);
      at += part.byteLength;
    }
    return new IdTable(new Uint32Array(bytes.buffer));
  }

  static merged(tables: readonly IdTable[]): IdTable {
    const words = new Uint32Array(tables.reduce((sum, table) => sum + table.#words.length, 0));
    let at = 0;
    for (const table of tables) {
      words.set(table.#words, at);
      at += table.#words.length;
    }
    return new IdTable(sort(words));
  }

  get entries(): number {
    return this.#words.length / 2;
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  /** Places of items whose ids have this hash. */
  seqsOf(hash: number): readonly number[] {
    const seqs: number[] = [];
    for (let index = this.#firstAtLeast(hash); this.#words[2 * index + 1] === hash; index += 1) {
      seqs.push(this.#words[2 * index] ?? 0);
    }
    return seqs;
  }

  *hashes(): Generator<number> {
    for (let at = 1; at < this.#words.length; at += 2) yield this.#words[at] ?? 0;
  }

  /** Every part exists, even if it is empty: one that is missing when it is read was deleted. */
  cut(parts: number): readonly Uint8Array[] {
    const cuts: Uint8Array[] = [];
    let from = 0;
    let to = 0;
    for (let part = 0; part < parts; part += 1) {
      while (to < this.entries && partOf(this.#words[2 * to + 1] ?? 0, parts) === part) to += 1;
      cuts.push(new Uint8Array(this.#words.buffer, from * BYTES_PER_ENTRY, (to - from) * BYTES_PER_ENTRY));
      from = to;
    }
    return cuts;
  }

  #firstAtLeast(hash: number): number {
    let low = 0;
    let high = this.entries;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#words[2 * middle + 1] ?? 0) < hash) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const BYTES_PER_ENTRY = 8;

function sort(words: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  new BigUint64Array(words.buffer).sort();
  return words;
}
