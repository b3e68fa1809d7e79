/**
 * Picks values from a list of unknown length that is read once, one from each of equally long stretches, so that the
 * sample is spread over the whole list: lists are sorted, and their first entries are alike. The position within a
 * stretch is random. There are never more than twice `size` values in memory: beyond that, every two neighbouring
 * stretches are merged.
 */
export class SpreadSample<T> {
  readonly #size: number;
  readonly #chance: () => number;
  readonly #maxBytes: number;
  /** One value for each full stretch. */
  #kept: Kept<T>[] = [];
  #keptBytes = 0;
  /** The value of the current stretch, and its length so far. */
  #current: Kept<T> | null = null;
  #seen = 0;
  #stretch = 1;

  constructor({ size, chance, maxBytes }: { size: number; chance: () => number; maxBytes: number }) {
    this.#size = size;
    this.#chance = chance;
    this.#maxBytes = maxBytes;
  }

  add(value: T, bytes: number): void {
    if (this.#size === 0) return;
    this.#seen += 1;
    if (this.#current === null || this.#chance() * this.#seen < 1) this.#current = { value, bytes };
    if (this.#seen < this.#stretch) return;
    this.#kept.push(this.#current);
    this.#keptBytes += this.#current.bytes;
    this.#current = null;
    this.#seen = 0;
    while (this.#kept.length >= 2 * this.#size || (this.#keptBytes > this.#maxBytes && this.#kept.length > 1))
      this.#merge();
  }

  /** In the order of the list; fewer than `size` only if the list is shorter or its values are too large. */
  values(): readonly T[] {
    const isShort = this.#kept.length < this.#size && this.#current !== null;
    const all = isShort && this.#current !== null ? [...this.#kept, this.#current] : this.#kept;
    const size = Math.min(this.#size, all.length);
    // Equally spaced: with independent positions, two could pick the same value.
    const offset = this.#chance();
    return Array.from({ length: size }, (_, at) => {
      const place = Math.floor(((at + offset) * all.length) / size);
      return (all[place] as Kept<T>).value;
    });
  }

  #merge(): void {
    const merged: Kept<T>[] = [];
    let bytes = 0;
    for (let at = 0; at + 1 < this.#kept.length; at += 2) {
      const one = this.#kept[this.#chance() < 0.5 ? at : at + 1] as Kept<T>;
      merged.push(one);
      bytes += one.bytes;
    }
    // The last one of an odd number begins the next stretch.
    if (this.#kept.length % 2 === 1) {
      this.#current = this.#kept.at(-1) ?? null;
      this.#seen = this.#stretch;
    }
    this.#kept = merged;
    this.#keptBytes = bytes;
    this.#stretch *= 2;
  }
}

interface Kept<T> {
  readonly value: T;
  readonly bytes: number;
}
