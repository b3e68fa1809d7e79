import type { ControllerSettings } from './controller/engine/controller.ts';
import type { EngineEvent } from './controller/engine/events.ts';
import type { JobFeedsSettings } from './controller/feed/job-feeds.ts';
import type { Lane } from './domain/lane.ts';
import type { Clock } from './ports/clock.ts';
import type { HostPauses, WorkerHostPauses } from './ports/host-pauses.ts';
import type { Leadership } from './ports/leadership.ts';
import type { Ledger, WorkerLeases } from './ports/ledger.ts';
import type { ResultLinks, ResultStore } from './ports/result-store.ts';
import type { DeadLetters, WorkerQueue, WorkQueue } from './ports/work-queue.ts';
import type { WorkSource } from './ports/work-source.ts';
import type { PoolChange } from './worker/pool.ts';

/** What an engine runs on: adapters that belong together, and how the controller is set for them. */
export interface Backend {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly leadership: Leadership;
  readonly store: ResultStore;
  /** Null where the bytes have no address of their own. */
  readonly links: ResultLinks | null;
  readonly queue: WorkQueue;
  readonly hostPauses: HostPauses;
  /** Where the queue sets aside what nobody could carry out. */
  readonly deadLetters?: DeadLetters;
  /** Names this controller among those that may lead. */
  readonly holder: string;
  readonly settings: ControllerSettings;
  /** What is other than usual for those who watch a job. */
  readonly feedSettings: Partial<JobFeedsSettings>;
  /** See StorageGuard. */
  probe(): Promise<void>;
  makeRoom(): Promise<void>;
  /** Removes what former processes left; that may take minutes. */
  sweep(): Promise<void>;
  /** Workers may come from now on, and `onWorker` hears of those that are known here. */
  acceptWorkers(onWorker: (event: WorkerEvent) => void): Promise<WorkerReception>;
  close(): Promise<void>;
}

export type WorkerEvent = Extract<
  EngineEvent,
  { readonly kind: 'worker-joined' | 'worker-left' | 'connection-trouble' | 'storage-trouble' }
>;

export interface WorkerReception {
  /** Told of the worker processes that this engine started, for a backend that they do not report to by themselves. */
  heardOfChild(change: PoolChange): void;
  /** Those from which workers take work; null where that is not known. */
  lanes(): ReadonlySet<Lane> | null;
  close(): Promise<void>;
}

/** What a worker process works with. */
export interface WorkerBackend {
  readonly store: ResultStore;
  readonly leases: Omit<WorkerLeases, 'claim'>;
  readonly queue: Pick<WorkerQueue, 'ack' | 'extend'>;
  readonly source: WorkSource;
  readonly hostPauses: WorkerHostPauses;
  /** How often a worker tells and hears of paused hosts. */
  readonly pausesEveryMs: number;
  /** Sent to the heartbeat's thread, which makes a connection of its own of it. */
  readonly heartbeatWith: HeartbeatArguments;
  readonly settleEveryMs: number;
  close(): Promise<void>;
}

export type HeartbeatArguments =
  | { readonly kind: 'embedded'; readonly socketPath: string; readonly workerId: string }
  | { readonly kind: 'aws'; readonly tableName: string; readonly queueUrls: Readonly<Record<Lane, string>> };

/** Begins the names of workers that end with the process which started them. */
export const CHILD = 'child-';
