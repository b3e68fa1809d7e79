import type { ItemWait, JobWait } from '../domain/item-wait.ts';

/** A worker's side of it: says which items begin to wait. Only shown to people, so a report may be lost. */
export interface WorkerItemWaits {
  add(waits: readonly ItemWait[], worker: string, now: number): Promise<void>;
}

/** The controller's side. */
export interface ItemWaits extends WorkerItemWaits {
  /** Items of the job that wait for another try. Empty where workers do not report it. */
  ofJob(jobId: string, now: number): readonly JobWait[];
  /** The worker has ended. */
  forget(worker: string): void;
}

/** For a backend on which a report would cost a write: nothing is known. */
export const NO_ITEM_WAITS: ItemWaits = {
  async add() {},
  ofJob: () => [],
  forget() {},
};
