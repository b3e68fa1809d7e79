import type { Clock } from '../../ports/clock.ts';
import { FAULT_POINTS, type FaultPoint, type Faults, NO_FAULTS } from '../../ports/faults.ts';

/**
 * Fault points that kill this process, for the crash loop: `after-settle-before-ack:0.01,…` dies there once in a hundred
 * times. SIGKILL, because that is what a lost machine looks like: no handler runs, nothing is flushed.
 */
export function killFaults(spec: string, clock: Clock): Faults {
  if (spec === '') return NO_FAULTS;
  const chances = new Map(spec.split(',').map(parsePoint));
  return {
    at(point) {
      const chance = chances.get(point);
      if (chance !== undefined && clock.chance() < chance) process.kill(process.pid, 'SIGKILL');
    },
  };
}

function parsePoint(text: string): [FaultPoint, number] {
  const [name, chance] = text.split(':');
  const point = FAULT_POINTS.find((known) => known === name);
  if (point === undefined) throw new Error(`there is no fault point ${name}; there are ${FAULT_POINTS.join(', ')}`);
  const number = Number(chance ?? 1);
  if (!(number >= 0 && number <= 1)) throw new Error(`fault point ${name}: ${chance} is not a chance from 0 to 1`);
  return [point, number];
}
