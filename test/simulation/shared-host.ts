import type { LineLimits } from '../../src/domain/line-limits.ts';
import type { Dice } from './dice.ts';

/** A host that all workers of a world visit, and whose limits they keep together. */
export interface SharedHost {
  readonly name: string;
  readonly limits: LineLimits;
  /** How often a worker with something to do there reserves its share. */
  readonly leaseMs: number;
}

/** One seed in so many has such a host: often enough to be found soon, rarely enough to cost little. */
const SHARE = 0.2;

/** Null in most seeds, which stay as they are without such hosts. */
export function drawSharedHost(dice: Dice): SharedHost | null {
  if (!dice.happens(SHARE)) return null;
  const isPaced = dice.happens(0.5);
  return {
    name: 'shared.test',
    limits: {
      maxConcurrent: isPaced && dice.happens(0.3) ? null : dice.int(1, 5),
      requestsPerSecond: isPaced ? dice.pick([2, 5, 20, 100]) : null,
      minDelayMs: isPaced ? dice.pick([0, 0, 100, 400]) : 0,
    },
    leaseMs: dice.pick([1000, 3000]),
  };
}
