import type { FailureType } from './failure.ts';

/** Items of a job that wait in a worker for their next try, because of the same failure and until the same second. */
export interface ItemWait {
  readonly jobId: string;
  readonly type: FailureType;
  readonly items: number;
  readonly until: number;
}

/** What is told of a job. */
export interface JobWait {
  readonly type: FailureType;
  readonly items: number;
  /** When the first of them goes on. */
  readonly until: number;
}

/** Kept per worker; what is beyond is not told. */
export const MAX_WAITS = 1000;

/** A worker that is asked to wait longer is asked by a wrong clock. */
const MAX_WAIT_MS = 86_400_000;

/**
 * Who waits, in memory. It is only shown, so it may be lost: nothing is decided by it. What is over is forgotten by the
 * clock, so that workers report what begins, and not what ends.
 */
export class WaitBook {
  readonly #byWorker = new Map<string, readonly ItemWait[]>();

  add(waits: readonly ItemWait[], worker: string, now: number): void {
    const known = (this.#byWorker.get(worker) ?? []).filter(({ until }) => until > now);
    const sane = waits.filter(({ until }) => until <= now + MAX_WAIT_MS);
    this.#byWorker.set(worker, [...known, ...sane].slice(0, MAX_WAITS));
  }

  /** The worker is gone, and what it had is not waiting any more. */
  forget(worker: string): void {
    this.#byWorker.delete(worker);
  }

  /** By failure, most items first. */
  ofJob(jobId: string, now: number): readonly JobWait[] {
    const byType = new Map<FailureType, JobWait>();
    for (const wait of [...this.#byWorker.values()].flat()) {
      if (wait.jobId !== jobId || wait.until <= now) continue;
      const { type, items, until } = wait;
      const known = byType.get(type) ?? { type, items: 0, until };
      byType.set(type, { type, items: known.items + items, until: Math.min(known.until, until) });
    }
    return [...byType.values()].sort((one, other) => other.items - one.items);
  }
}
