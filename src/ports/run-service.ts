import type { DistributionStrategy } from '../domain/items-to-sessions.ts';
import type { JobRecord } from '../domain/job.ts';
import type { Policy } from '../domain/policy.ts';
import type { RunOrder, RunRetry } from '../domain/run-order.ts';

/** Carries out scrape runs: what the API and commands can ask for. */
export interface RunService {
  /** Takes the active run of a domain, or creates one, and carries it out. Does nothing if one is being carried out. */
  start(wish: RunWish): Promise<RunStarted>;
  /** Carries out a run again for items that ended without a result, even if it is finalized. */
  retry(runId: string, again: readonly RunRetry[], options: RunOptions): Promise<RunStarted>;
  /** The runs that are being carried out. */
  list(): Promise<readonly CarriedRun[]>;
  /** A run of the ETL API. Null if there is none with that id. */
  find(runId: string): Promise<FoundRun | null>;
  /** Ends a run in the ETL API, whatever is pending in it. `busy` if it is being carried out. */
  finalize(runId: string): Promise<RunStats | 'busy' | null>;
}

export interface RunOptions {
  /** Null: the one that has the domain among its hosts. */
  readonly scraperId: string | null;
  readonly sessions: number;
  readonly strategy: DistributionStrategy;
  readonly maxItemsPerSession: number;
  readonly policy: Policy;
}

export interface RunWish extends RunOptions {
  readonly domain: string;
  /** For a new run. */
  readonly urls: readonly string[];
}

export interface CarriedRun {
  readonly order: RunOrder;
  readonly jobId: string;
  /** Null before it is created. */
  readonly job: JobRecord | null;
}

export type RunStarted =
  | ({ readonly kind: 'started'; readonly isNew: boolean } & CarriedRun)
  /** Nothing was done: a run of this domain is already being carried out. */
  | ({ readonly kind: 'busy' } & CarriedRun)
  /** There was nothing pending, and the run is finalized. */
  | { readonly kind: 'nothing-pending'; readonly runId: string; readonly domain: string }
  /** Another start of this domain is under way. */
  | { readonly kind: 'starting' }
  | { readonly kind: 'no-run' }
  | { readonly kind: 'bad'; readonly path: string; readonly problem: string };

export interface RunStats {
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  readonly pending: number;
}

export interface FoundRun {
  readonly runId: string;
  readonly domain: string;
  readonly status: string | null;
  readonly startTime: string;
  readonly endTime: string | null;
  readonly items: RunStats;
  /** Null if it is not being carried out here. */
  readonly carried: CarriedRun | null;
  /** Jobs of its rounds that exist, oldest first. */
  readonly jobIds: readonly string[];
}

/** The ETL API did not do what was asked of it. */
export class EtlTrouble extends Error {
  override name = 'EtlTrouble';
}
