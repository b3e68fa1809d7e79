import type { Clock } from '../../src/ports/clock.ts';
import type { HostShares } from '../../src/ports/host-shares.ts';
import type { Leadership } from '../../src/ports/leadership.ts';
import type { Ledger, WorkerLeases } from '../../src/ports/ledger.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import type { WorkerQueue, WorkQueue } from '../../src/ports/work-queue.ts';
import type { Heartbeat } from '../../src/worker/heartbeat.ts';

/**
 * A bug put into the engine on purpose, to see that the simulation finds it. Each hook replaces one part, in the place
 * where a careless change would have broken it; what is not named stays as it is.
 */
export interface Plant {
  readonly name: string;
  /** The ledger itself, in memory. */
  readonly ledger?: () => Ledger;
  /** The shares of hosts, in memory. */
  readonly shares?: () => HostShares;
  /** What a worker makes of its ports. */
  readonly worker?: (ports: WorkerPorts) => Partial<WorkerPorts>;
  /** What a controller makes of its ports. */
  readonly controller?: (ports: ControllerPorts) => Partial<ControllerPorts>;
}

export interface WorkerPorts {
  readonly leases: WorkerLeases;
  readonly queue: WorkerQueue;
  readonly store: ResultStore;
  readonly heartbeat: Heartbeat;
  readonly clock: Clock;
  readonly leaseMs: number;
}

export interface ControllerPorts {
  readonly ledger: Ledger;
  readonly queue: WorkQueue;
  readonly store: ResultStore;
  readonly leadership: Leadership;
  readonly clock: Clock;
}

export const NO_BUG: Plant = { name: 'none' };
