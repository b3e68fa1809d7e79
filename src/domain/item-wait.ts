import type { FailureType } from './failure.ts';

/** Items of a job that wait in a worker for their next try, with the same failure and until the same second. */
export interface ItemWait {
  readonly jobId: string;
  readonly type: FailureType;
  readonly items: number;
  readonly until: number;
}

/** The waiting items of a job, as they are reported. */
export interface JobWait {
  readonly type: FailureType;
  readonly items: number;
  /** When the first of them continues. */
  readonly until: number;
}

/** Limit per worker; further ones are not reported. */
export const MAX_WAITS = 1000;

/** A longer wait can only come from a wrong clock. */
const MAX_WAIT_MS = 86_400_000;

/**
 * Waiting items, in memory. They are only displayed, so they may be lost: nothing depends on them. They expire by the
 * clock, so workers report when waits begin, not when they end.
 */
export class WaitBook {
  readonly #byWorker = new Map<string, readonly ItemWait[]>();

  add(waits: readonly ItemWait[], worker: string, now: number): void {
    const known = (this.#byWorker.get(worker) ?? []).filter(({ until }) => until > now);
    const sane = waits.filter(({ until }) => until <= now + MAX_WAIT_MS);
    this.#byWorker.set(worker, [...known, ...sane].slice(0, MAX_WAITS));
  }

  /** The worker is gone, so its items no longer wait. */
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
