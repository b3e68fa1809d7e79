import type { HostAnswer } from '../../src/domain/host-outage.ts';
import type { LineLimits } from '../../src/domain/line-limits.ts';
import type { Dice } from './dice.ts';

/** A host that all workers of a world visit, and whose limits they keep together. */
export interface SharedHost {
  readonly name: string;
  readonly limits: LineLimits;
  /** How often a worker with something to do there reserves its share. */
  readonly leaseMs: number;
  /** Null for one that answers everything. */
  readonly temper: HostTemper | null;
}

/** How a host answers, whatever its settings are. What it answers matters only to the gate, and not to the item. */
export interface HostTemper {
  /** It refuses more requests than this in any second; null if it never does. */
  readonly bearsPerSecond: number | null;
  /** When it does not answer, in milliseconds from the start of the world. */
  readonly down: { readonly from: number; readonly until: number };
}

/** The answers of such a host. */
export class TemperedHost {
  readonly #temper: HostTemper;
  #accepted: number[] = [];

  constructor(temper: HostTemper) {
    this.#temper = temper;
  }

  answer(now: number): HostAnswer {
    const { bearsPerSecond, down } = this.#temper;
    if (now >= down.from && now < down.until) return 'away';
    this.#accepted = this.#accepted.filter((at) => at > now - 1000);
    if (bearsPerSecond !== null && this.#accepted.length >= bearsPerSecond) return 'refused';
    this.#accepted.push(now);
    return 'good';
  }
}

/** One seed in this many has such a host: often enough to be found soon, rarely enough to cost little. */
const SHARE = 0.2;

/** Null in most seeds, which stay as they are without such hosts. */
export function drawSharedHost(dice: Dice, temperDice: Dice): SharedHost | null {
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
    temper: drawTemper(temperDice),
  };
}

function drawTemper(dice: Dice): HostTemper | null {
  if (!dice.happens(0.6)) return null;
  const from = dice.int(1000, 20_000);
  return {
    bearsPerSecond: dice.pick([null, 2, 5, 10]),
    down: { from, until: from + dice.pick([0, 3000, 8000, 20_000]) },
  };
}
