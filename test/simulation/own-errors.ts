import type { Faults } from '../../src/ports/faults.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import { Dice } from './dice.ts';
import { SimFault } from './network.ts';
import type { Sim } from './sim.ts';
import type { SimProcess } from './sim-process.ts';

/** Errors of our own in the middle of a batch, and renewals that hang: neither may cost a worker its leases. */

type FaultPoint = Parameters<Faults['at']>[0];

/** Places inside the work on a batch. An error thrown elsewhere ends the worker, as it should. */
const IN_A_BATCH: ReadonlySet<FaultPoint> = new Set<FaultPoint>([
  'after-claim-before-work',
  'after-work-before-bytes',
  'after-bytes-before-settle',
  'after-settle-before-ack',
  'after-ack',
]);

export function throwingAt(faults: Faults, process: SimProcess, sim: Sim): Faults {
  return {
    at(point) {
      if (IN_A_BATCH.has(point) && sim.faults.strikes('own-error', 2)) {
        sim.trace.add(sim.timeline.now, process.name, `throws ${point}`);
        throw new SimFault(`an error of our own ${point}`);
      }
      return faults.at(point);
    },
  };
}

/** The results of some items can never be stored, by any worker and however often: a bug that they bring out. */
export function cursedStore(store: ResultStore, sim: Sim): ResultStore {
  const isOn = sim.faults.isOn('own-error');
  return {
    ...store,
    async put(key, body, how) {
      const [jobId, , itemId] = key.split('/');
      if (isOn && new Dice(sim.seed, `curse ${jobId}/${itemId}`).happens(CURSED)) {
        sim.faults.count('own-error: every time');
        throw new SimFault(`${key} can never be stored`);
      }
      return store.put(key, body, how);
    },
  };
}

const CURSED = 0.04;

/**
 * Renewals whose answer never comes, or comes when nothing depends on it any more. There are at most two in a row: the
 * third of four beats must get through for a lease to last. They are counted lease by lease, because a renewal of
 * another lease does not save this one.
 */
export function hangingRenew(ledger: Ledger, process: SimProcess, sim: Sim): Ledger {
  const inARow = new Map<string, number>();
  return {
    ...ledger,
    async renew(tokens, until) {
      const mustGetThrough = tokens.some((token) => (inARow.get(token) ?? 0) >= 2);
      if (mustGetThrough || !sim.faults.strikes('renew-hangs', 6)) {
        for (const token of tokens) inARow.delete(token);
        return ledger.renew(tokens, until);
      }
      for (const token of tokens) inARow.set(token, (inARow.get(token) ?? 0) + 1);
      sim.trace.add(sim.timeline.now, process.name, `hangs in renew ${tokens.join(',')}`);
      if (sim.dice.happens(0.5)) return new Promise(() => {});
      await process.clock.sleep(sim.dice.between(1, 8) * sim.timing.leaseMs);
      return ledger.renew(tokens, until);
    },
  };
}
