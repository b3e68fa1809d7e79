/**
 * Says of a hash that it was certainly never added, or that it may have been (about once in a thousand when it was
 * not): a Bloom filter that grows by layers, two bytes an entry. An import of millions asks it instead of the disk.
 */
export class IdFilter {
  readonly #layers: Layer[] = [];

  /** False if it may have been there before. */
  add(hash: number): boolean {
    for (const layer of this.#layers) if (has(layer, hash)) return false;
    let last = this.#layers.at(-1);
    if (last === undefined || last.room === 0) {
      last = newLayer(last === undefined ? FIRST_LAYER_BITS : Math.min(last.bits + 2, LARGEST_LAYER_BITS));
      this.#layers.push(last);
    }
    put(last, hash);
    return true;
  }

  get bytes(): number {
    return this.#layers.reduce((sum, { words }) => sum + words.byteLength, 0);
  }
}

const FIRST_LAYER_BITS = 17;
const LARGEST_LAYER_BITS = 30;
const BITS_PER_ENTRY = 16;
const PROBES = 6;

interface Layer {
  readonly bits: number;
  readonly words: Uint32Array;
  room: number;
}

function newLayer(bits: number): Layer {
  return { bits, words: new Uint32Array(2 ** (bits - 5)), room: 2 ** bits / BITS_PER_ENTRY };
}

/** The second of the two numbers from which all probes are made. Odd, so that they do not meet early. */
function strideOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) | 1;
}

function has({ bits, words }: Layer, hash: number): boolean {
  const stride = strideOf(hash);
  let probe = hash;
  for (let count = 0; count < PROBES; count += 1) {
    const bit = probe >>> (32 - bits);
    if (((words[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
    probe = (probe + stride) | 0;
  }
  return true;
}

function put(layer: Layer, hash: number): void {
  const { bits, words } = layer;
  const stride = strideOf(hash);
  let probe = hash;
  for (let count = 0; count < PROBES; count += 1) {
    const bit = probe >>> (32 - bits);
    words[bit >>> 5] = (words[bit >>> 5] ?? 0) | (1 << (bit & 31));
    probe = (probe + stride) | 0;
  }
  layer.room -= 1;
}
