import type { StepFailure } from './step-failure.ts';

/** More steps than fail in the jobs that a process works on. */
const MAX_KEYS = 1000;

/** Of one step and type of failure there may be several groups, with different addresses or layouts. */
const GROUPS_PER_STEP = 4;

/**
 * Decides of which failed steps a picture is taken: only the first ones of a group are kept, which is known too late, when
 * the browser is closed. A picture of every failure would cost a job with many unknown parcels more than it tells.
 */
export class StepPictures {
  readonly #taken = new Map<string, number>();

  /** Counts it as taken. `keptPerGroup`: as the policy says. */
  wants(jobId: string, { path, type }: Pick<StepFailure, 'path' | 'type'>, keptPerGroup: number): boolean {
    const key = `${jobId}\n${path}\n${type}`;
    const taken = this.#taken.get(key) ?? 0;
    if (taken >= keptPerGroup * GROUPS_PER_STEP) return false;
    if (this.#taken.size >= MAX_KEYS) this.#taken.clear();
    this.#taken.set(key, taken + 1);
    return true;
  }
}
