/**
 * Reproducible chance: the same seed and name give the same throws. Everything random in a simulated run comes
 * from here, and every subject throws dice of its own, so that a change in one does not shift all others.
 */
export class Dice {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number, name: string) {
    let mixed = (seed ^ 0x9e3779b9) | 0;
    for (let index = 0; index < name.length; index += 1) {
      mixed = Math.imul(mixed ^ name.charCodeAt(index), 0x01000193);
    }
    this.#a = mixed | 0;
    this.#b = Math.imul(seed + 1, 0x85ebca6b) | 0;
    this.#c = Math.imul(mixed ^ (seed >>> 7), 0xc2b2ae35) | 0;
    for (let round = 0; round < 12; round += 1) this.next();
  }

  /** In [0, 1). The generator is sfc32. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return (sum >>> 0) / 4294967296;
  }

  happens(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  /** Both ends included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  /** Small values are as likely as large ones of the same order: 1–10 as often as 10–100. */
  logBetween(min: number, max: number): number {
    return min * (max / min) ** this.next();
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[Math.floor(this.next() * list.length)];
    if (picked === undefined) throw new Error('dice: nothing to pick from');
    return picked;
  }

  shuffled<T>(list: readonly T[]): T[] {
    const rest = [...list];
    for (let last = rest.length - 1; last > 0; last -= 1) {
      const other = this.int(0, last);
      const kept = rest[last];
      const moved = rest[other];
      if (kept === undefined || moved === undefined) continue;
      rest[last] = moved;
      rest[other] = kept;
    }
    return rest;
  }
}
