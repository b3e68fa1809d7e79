import type { ItemWait, JobWait } from '../domain/item-wait.ts';

/** The worker's side: reports items that begin to wait. Reports are only shown to people, so they may be lost. */
export interface WorkerItemWaits {
  add(waits: readonly ItemWait[], worker: string, now: number): Promise<void>;
}

/** The controller's side. */
export interface ItemWaits extends WorkerItemWaits {
  /** Items of the job that wait for another try. Empty if workers do not report them. */
  ofJob(jobId: string, now: number): readonly JobWait[];
  /** Call it when the worker has ended. */
  forget(worker: string): void;
}

/** For a backend on which a report would cost a write: it never knows of any. */
export const NO_ITEM_WAITS: ItemWaits = {
  async add() {},
  ofJob: () => [],
  forget() {},
};
