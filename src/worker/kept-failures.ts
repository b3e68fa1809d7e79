import type { Failure } from '../domain/failure.ts';
import { type GroupKind, groupOf, isSameProblem, MAX_GROUPS, otherGroup } from '../domain/failure-group.ts';

interface FailedAttempt {
  readonly jobId: string;
  /** Distinguishes two jobs with the same id. */
  readonly jobCreatedAt: number;
  /** The attempt at the item. Attempts after a retry are counted separately: their pages are new. */
  readonly attempt: number;
}

/** More jobs than a process works on, so that only finished ones are forgotten. */
const MAX_JOBS = 200;

/**
 * The groups of failures whose pages this process has kept, so that only the first ones of each are kept. Every
 * process counts for itself: asking the ledger would be a call per failure. So a job may have as many pages of a group
 * from each process, and never fewer than the policy says.
 */
export class KeptFailures {
  readonly #byJob = new Map<string, JobGroups>();

  /**
   * Null if enough was kept of failures like this. Otherwise it counts as kept, unless the returned function is called.
   */
  reserve({ jobId, jobCreatedAt, attempt }: FailedAttempt, failure: Failure, most: number): (() => void) | null {
    const group = this.#groupsOf(`${jobCreatedAt} ${jobId}`).find(attempt, failure);
    if (group.kept >= most) return null;
    group.kept += 1;
    return () => {
      group.kept -= 1;
    };
  }

  #groupsOf(job: string): JobGroups {
    const groups = this.#byJob.get(job) ?? new JobGroups();
    this.#byJob.delete(job);
    this.#byJob.set(job, groups);
    const [oldest] = this.#byJob.keys();
    if (this.#byJob.size > MAX_JOBS && oldest !== undefined) this.#byJob.delete(oldest);
    return groups;
  }
}

interface KeptGroup {
  readonly kind: GroupKind;
  kept: number;
}

class JobGroups {
  /** By attempt, type and pattern; a few of each, with different addresses or layouts. */
  readonly #alike = new Map<string, KeptGroup[]>();
  #size = 0;

  find(attempt: number, failure: Failure): KeptGroup {
    const kind = groupOf(failure);
    const found = this.#among(attempt, kind).find((group) => isSameProblem(group.kind, kind));
    if (found !== undefined) return found;
    // As in the ledger: beyond this many, those of a type and step share one group.
    const own = this.#size < MAX_GROUPS ? kind : otherGroup(failure);
    const group = this.#among(attempt, own).find((each) => isSameProblem(each.kind, own));
    return group ?? this.#add(attempt, own);
  }

  #among(attempt: number, { type, pattern }: GroupKind): readonly KeptGroup[] {
    return this.#alike.get(`${attempt} ${type} ${pattern}`) ?? [];
  }

  #add(attempt: number, kind: GroupKind): KeptGroup {
    const group: KeptGroup = { kind, kept: 0 };
    const key = `${attempt} ${kind.type} ${kind.pattern}`;
    this.#alike.set(key, [...(this.#alike.get(key) ?? []), group]);
    this.#size += 1;
    return group;
  }
}
