import type { BackendConfig, Config } from '../config.ts';
import type { ControllerSettings } from '../controller/engine/controller.ts';
import type { EngineEvent } from '../controller/engine/events.ts';
import type { JobFeedsSettings } from '../controller/feed/job-feeds.ts';
import type { StoredArtifact } from '../domain/artifact.ts';
import type { Lane } from '../domain/lane.ts';
import type { Clock } from '../ports/clock.ts';
import type { Faults } from '../ports/faults.ts';
import type { HostPauses, WorkerHostPauses } from '../ports/host-pauses.ts';
import type { HostRecords, WorkerHostRecords } from '../ports/host-records.ts';
import type { HostSettingsBook, WorkerHostSettings } from '../ports/host-settings.ts';
import type { HostShares } from '../ports/host-shares.ts';
import type { ItemWaits, WorkerItemWaits } from '../ports/item-waits.ts';
import type { WorkerRecordings } from '../ports/kept-recordings.ts';
import type { Leadership } from '../ports/leadership.ts';
import type { Ledger, WorkerLeases } from '../ports/ledger.ts';
import type { ResultLinks, ResultStore } from '../ports/result-store.ts';
import type { RunBook } from '../ports/run-book.ts';
import type { StepRecords, WorkerStepRecords } from '../ports/step-records.ts';
import type { DeadLetters, WorkerQueue, WorkQueue } from '../ports/work-queue.ts';
import type { WorkSource } from '../ports/work-source.ts';
import type { HeartbeatConnection } from '../worker/heartbeat-thread.ts';
import type { PoolChange } from '../worker/pool.ts';
import type { Check, InspectOptions } from './check.ts';
import type { RecordingTools } from './recording-tools.ts';
import type { SiteTools, WorkerSiteTools } from './site-data.ts';

export type BackendKind = BackendConfig['kind'];

/** The settings of a process whose jobs are in a backend of this kind. */
export type ConfigFor<Kind extends BackendKind> = Config & {
  readonly backend: Extract<BackendConfig, { readonly kind: Kind }>;
};

export type OnTrouble = (where: string, error: unknown) => void;

/**
 * Everything that the rest of the program needs of a backend. A new kind is a file that exports one, and a row of
 * `backends.ts`.
 */
export interface BackendModule<Kind extends BackendKind = BackendKind> {
  /** The unit of a worker's slots, for `trawl doctor`. */
  readonly slotUnit: 'items' | 'batches';
  /** Where jobs are kept, as fields for the log. */
  describe(config: ConfigFor<Kind>): Readonly<Record<string, string>>;
  open(config: ConfigFor<Kind>, onTrouble: OnTrouble): Promise<Backend>;
  openWorker(config: ConfigFor<Kind>, deps: WorkerBackendDeps): Promise<WorkerBackend>;
  /** True for an error of a worker whose controller is gone; another controller may replace it. */
  isControllerGone(error: unknown): boolean;
  /** A connection for the heartbeat thread of a worker, apart from the worker's own. */
  connectHeartbeat(config: ConfigFor<Kind>, deps: HeartbeatDeps): Promise<HeartbeatConnection>;
  /** Checks everything except the results, whether or not an engine runs on it. */
  inspect(config: ConfigFor<Kind>, options: InspectOptions): Promise<readonly Check[]>;
}

export interface WorkerBackendDeps {
  readonly id: string;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly onTrouble: OnTrouble;
  readonly stop: AbortSignal;
}

interface HeartbeatDeps {
  readonly workerId: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What an engine runs on: a set of adapters, and settings of the controller for them. */
export interface Backend extends SiteTools, RecordingTools {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly leadership: Leadership;
  readonly store: ResultStore;
  /** Null if the bytes cannot be linked to. */
  readonly links: ResultLinks | null;
  /** Where a reader finds an artifact without the API. */
  readonly pathOf: (artifact: StoredArtifact) => string;
  readonly queue: WorkQueue;
  readonly hostPauses: HostPauses;
  readonly hostSettings: HostSettingsBook;
  readonly hostRecords: HostRecords;
  readonly stepRecords: StepRecords;
  readonly itemWaits: ItemWaits;
  readonly runs: RunBook;
  /** Where the queue sets aside messages that no worker could process. */
  readonly deadLetters?: DeadLetters;
  /** Names this controller among those that may lead. */
  readonly holder: string;
  readonly settings: ControllerSettings;
  /** Overrides of the default feed settings. */
  readonly feedSettings: Partial<JobFeedsSettings>;
  /** See StorageGuard. */
  probe(): Promise<void>;
  makeRoom(): Promise<void>;
  /** Removes what former processes left behind; that may take minutes. */
  sweep(): Promise<void>;
  /** Workers may connect from now on; `onWorker` is notified of those that are known here. */
  acceptWorkers(onWorker: (event: WorkerEvent) => void): Promise<WorkerReception>;
  close(): Promise<void>;
}

export type WorkerEvent = Extract<
  EngineEvent,
  { readonly kind: 'worker-joined' | 'worker-left' | 'connection-trouble' | 'storage-trouble' }
>;

export interface WorkerReception {
  /** Called for worker processes that this engine started, for a backend that does not hear from them directly. */
  heardOfChild(change: PoolChange): void;
  /** The lanes that workers serve; null if unknown. */
  lanes(): ReadonlySet<Lane> | null;
  close(): Promise<void>;
}

/** What a worker process works with. */
export interface WorkerBackend extends WorkerSiteTools {
  readonly recordings: WorkerRecordings;
  readonly store: ResultStore;
  readonly leases: Omit<WorkerLeases, 'claim'>;
  readonly queue: Pick<WorkerQueue, 'ack' | 'extend'>;
  readonly source: WorkSource;
  readonly hostPauses: WorkerHostPauses;
  readonly hostSettings: WorkerHostSettings;
  readonly hostShares: HostShares;
  /** How often a worker renews its share of a host's limits. */
  readonly shareLeaseMs: number;
  readonly itemWaits: WorkerItemWaits;
  /** How often a worker exchanges paused hosts with the others, and looks for changed settings of hosts. */
  readonly pausesEveryMs: number;
  /** How long a worker may use a job's policy before asking again. */
  readonly orderGoodMs: number;
  readonly hostRecords: WorkerHostRecords;
  readonly stepRecords: WorkerStepRecords;
  /** How often a worker reports what it did at hosts, and what it saw of the steps of recordings. */
  readonly seenEveryMs: number;
  readonly settleEveryMs: number;
  close(): Promise<void>;
}
