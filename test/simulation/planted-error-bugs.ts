import { BEATS_PER_LEASE, beatOnce } from '../../src/worker/heartbeat.ts';
import type { Held } from '../../src/worker/lease-table.ts';
import type { WorkerPorts } from './plant.ts';

/** Mistakes in what a worker does when something fails that is not the item's fault. */

/** The next beat waits for the answer to the last one, however long that takes. */
export function waitsForEveryRenewal({ leases, queue, clock, leaseMs }: WorkerPorts): Partial<WorkerPorts> {
  const held = new Map<number, Held>();
  const stop = new AbortController();
  const beat = async () => {
    while (!stop.signal.aborted) {
      await clock.sleep(leaseMs / BEATS_PER_LEASE, stop.signal);
      await beatOnce([...held.values()], { leases, queue, clock, leaseMs }).catch(() => {});
    }
  };
  void beat();
  return {
    heartbeat: {
      hold: (slot, what) => void held.set(slot, what),
      drop: (slot) => void held.delete(slot),
      onLost() {},
      async stop() {
        stop.abort();
      },
    },
  };
}

/** The batch is dropped where it is. */
export function letsLeasesRunOut({ leases }: WorkerPorts): Partial<WorkerPorts> {
  return {
    leases: {
      ...leases,
      release: async (token, because, ...more) =>
        typeof because === 'string' ? leases.release(token, because, ...more) : false,
    },
  };
}
