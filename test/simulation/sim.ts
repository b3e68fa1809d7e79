import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import type { Backend } from './backend.ts';
import type { Dice } from './dice.ts';
import type { FaultPlan } from './fault-plan.ts';
import type { ForgetfulSites } from './forgetful-sites.ts';
import type { HangingSite } from './hanging-site.ts';
import type { LinkedItems } from './linked-items.ts';
import type { Network } from './network.ts';
import type { HostOracle } from './oracle/hosts.ts';
import type { Oracle } from './oracle/oracle.ts';
import type { Plant } from './plant.ts';
import type { SharedHost, TemperedHost } from './shared-host.ts';
import type { Timeline } from './timeline.ts';
import type { Trace } from './trace.ts';

/** What all parts of one simulated world share. */
export interface Sim {
  readonly seed: number;
  readonly timeline: Timeline;
  readonly dice: Dice;
  readonly faults: FaultPlan;
  readonly trace: Trace;
  readonly network: Network;
  readonly backend: Backend;
  readonly oracle: Oracle;
  readonly plant: Plant;
  readonly timing: Timing;
  readonly disk: Disk;
  readonly sites: ForgetfulSites;
  readonly links: LinkedItems;
  /** Set where nothing goes wrong but that one site hangs. */
  readonly hangingSite: HangingSite | null;
  /** Set where workers keep the limits of a host together. */
  readonly sharedHost: SharedHost | null;
  /** What it answers; null where it answers everything. */
  readonly temperedHost: TemperedHost | null;
  readonly hostOracle: HostOracle | null;
  /** The engine is about to change a job's state: a good moment for a user to do so, too. */
  onEngineDecision: (jobId: string) => void;
}

/** The engine's settings in this world. */
export interface Timing {
  readonly leaseMs: number;
  readonly lostAfterMs: number;
  readonly leadMs: number;
  readonly handoverMs: number;
  readonly reapMs: number;
  readonly pollMs: number;
  readonly probeMs: number;
  readonly itemsPerBatch: number;
  readonly drainGraceMs: number;
  readonly settleEveryMs: number;
  readonly itemManifests: boolean;
}

/** The disk that ledger and results share: full for a while, now and then. */
export class Disk {
  isLedgerFull = false;
  isStoreFull = false;
  /** The last moment of trouble. */
  wasFullAt = Number.NEGATIVE_INFINITY;

  ledgerTrouble(): Error | null {
    return this.isLedgerFull ? new StorageTrouble('full', 'simulated: no room for the ledger') : null;
  }

  storeTrouble(): Error | null {
    return this.isStoreFull ? new StorageTrouble('full', 'simulated: no room for results') : null;
  }
}
