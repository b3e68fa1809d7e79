/** Numbers in [0, 1) that always come out the same for the same start. */
export type Random = () => number;

/** A stream of its own for every `(seed, number, topic)`: one part of a parcel can be made without the others. */
export function randomOf(seed: number, number: number, topic: number): Random {
  let state = mix(mix(mix(seed) ^ number) ^ topic);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    return mix(state) / 2 ** 32;
  };
}

/** The finishing step of MurmurHash3: neighbours in, strangers out. */
function mix(value: number): number {
  let hash = (value ^ 0x9e3779b9) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export function pick<const T extends readonly [unknown, ...unknown[]]>(random: Random, from: T): T[number] {
  return from[Math.floor(random() * from.length)] ?? from[0];
}

/** A whole number from `least` to `most`, both included. */
export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}
