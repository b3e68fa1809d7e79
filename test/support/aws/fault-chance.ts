/**
 * What happens to one request. It is drawn from the seed and the request's place in the order of arrival alone, so that
 * how many numbers another request needed changes nothing.
 */
export class Chance {
  #state: number;

  constructor(seed: number, ordinal: number) {
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(ordinal + 1, 0x85ebca6b)) >>> 0;
  }

  /** In [0, 1), by mulberry32: small, and good enough to choose what breaks. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  strikes(rate: number): boolean {
    return this.next() < rate;
  }

  /** Both ends included. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<T>(all: readonly [T, ...T[]]): T {
    return all[this.whole(0, all.length - 1)] ?? all[0];
  }

  shuffled<T>(all: readonly T[]): readonly T[] {
    return all
      .map((value) => ({ value, place: this.next() }))
      .sort((a, b) => a.place - b.place)
      .map(({ value }) => value);
  }

  /** Any number of them, from `least` to `most`, in their order. */
  some<T>(all: readonly T[], least: number, most: number): readonly T[] {
    const places = this.shuffled([...all.keys()]).slice(0, this.whole(least, most));
    return all.filter((_, place) => places.includes(place));
  }
}
