import type { Dice } from './dice.ts';
import type { Sim } from './sim.ts';

const HOUR_MS = 3_600_000;

/**
 * The wall clock of the whole world is set, by up to hours, and stays so: an operator corrects the time, or a machine
 * wakes up from a suspend. All processes see the same, so none of them has an excuse: a worker that is well keeps its
 * leases through any number of such jumps, and nothing waits for as long as the clock was set back.
 */
export function setClocks({ timeline, trace }: Sim, dice: Dice, direction: 'forward' | 'back'): boolean {
  const ms = Math.round(dice.logBetween(500, 4 * HOUR_MS));
  timeline.wallShiftMs += direction === 'forward' ? ms : -ms;
  timeline.wallSetAt = timeline.now;
  trace.add(timeline.now, 'world', `all clocks are set ${direction} by ${ms} ms`);
  return true;
}
