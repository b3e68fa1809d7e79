import { PATTERN_GROUPS, type PatternGroup } from './blocking.ts';

/** A worker has items of few jobs at a time. The one that was seen first is forgotten first, and noted again. */
const MAX_JOBS = 100;

/**
 * What the pages of a job were seen to ask for although it is blocked. The pages of a job are alike: if none has asked for
 * pictures or trackers, the next one does without the patterns against them.
 */
export class BlockedByJob {
  readonly #jobs = new Map<string, Set<PatternGroup>>();

  note(job: string, group: PatternGroup): void {
    const groups = this.#jobs.get(job) ?? new Set();
    this.#jobs.set(job, groups.add(group));
    const [oldest] = this.#jobs.keys();
    if (this.#jobs.size > MAX_JOBS && oldest !== undefined) this.#jobs.delete(oldest);
  }

  /** What a new page of the job must be expected to ask for: without a job, anything. */
  expected(job: string | null): Iterable<PatternGroup> {
    return job === null ? PATTERN_GROUPS : (this.#jobs.get(job) ?? []);
  }
}
