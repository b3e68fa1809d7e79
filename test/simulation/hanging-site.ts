import type { Dice } from './dice.ts';

/**
 * A world in which nothing goes wrong but one site: it takes connections and never answers. Its job came first and has
 * more in flight than all workers have slots; later come small jobs of other sites, and each of them must be done in the
 * time that it takes beside other small ones, long before the first hanging item is given up.
 */
export interface HangingSite {
  /** Slots of each worker. */
  readonly workers: readonly number[];
  readonly hanging: string;
  readonly small: readonly string[];
}

/** One seed in so many is such a world. */
const SHARE = 0.04;

/** Null in most seeds. */
export function drawHangingSite(dice: Dice): HangingSite | null {
  if (!dice.happens(SHARE)) return null;
  return {
    workers: Array.from({ length: dice.int(1, 3) }, () => dice.int(2, 4)),
    hanging: 'hanging',
    small: Array.from({ length: dice.int(1, 3) }, (_, index) => `small-${index + 1}`),
  };
}
