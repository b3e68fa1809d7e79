import type { Counts } from './counts.ts';
import { BEING_DELETED } from './job-removal.ts';
import { isFinishing, newRound } from './job-round.ts';
import type { JobStatus } from './job-steps.ts';
import type { ManifestSummary } from './manifest.ts';
import type { Refusal } from './refusal.ts';

/** How the data of a re-extraction come to replace those of the job it read, and how that is undone. */
export type ReplacementEvent =
  /** The data of the re-extraction `by` replace the job's own from now on, and the index is written again. */
  | {
      readonly kind: 'replace-results';
      readonly by: string;
      readonly ofRound?: number;
      readonly sourceCreatedAt?: number;
      /** If given, only while these data are in place: another replacement may have happened meanwhile. */
      readonly insteadOf?: Replacement | null;
    }
  /** The re-extraction `by` is being deleted: the previous data are in place again. */
  | {
      readonly kind: 'withdraw-results';
      readonly by: Replacement;
      readonly insteadOf: Replacement | null;
    }
  /** All failed items that `by` could read are successes now. */
  | { readonly kind: 'recovered'; readonly by: string; readonly ofRound?: number };

const OTHER_REPLACEMENT: Refusal = { refused: 'other results were put in place at the same moment: try again' };

/** The re-extraction whose data replace those of a job. */
interface Replacement {
  readonly by: string;
  readonly round: number;
}

/** The fields of a job that matter here. */
interface Replaceable {
  readonly jobId: string;
  readonly createdAt: number;
  readonly status: JobStatus;
  readonly finishedAt: number | null;
  readonly round: number;
  readonly manifest: ManifestSummary | null;
  readonly replacedBy?: string;
  readonly replacedRound?: number;
  readonly counts: Counts;
  readonly recovering?: true;
  readonly recoveredFrom?: readonly string[];
  readonly removing?: 'asked' | true;
}

export function replacementOf({ replacedBy, replacedRound = 1 }: Replaceable): Replacement | null {
  return replacedBy === undefined ? null : { by: replacedBy, round: replacedRound };
}

function isSameReplacement(one: Replacement | null, other: Replacement | null): boolean {
  return one?.by === other?.by && one?.round === other?.round;
}

export function applyReplacement<Job extends Replaceable>(job: Job, event: ReplacementEvent): Job | Refusal {
  if (event.kind === 'replace-results') return replaceResults(job, event);
  if (event.kind === 'recovered') return endRecovery(job, event);
  if (isSameReplacement(event.by, event.insteadOf)) return job;
  return isSameReplacement(replacementOf(job), event.by) ? replaced(job, event.insteadOf) : job;
}

/** Allowed at any time: whatever became of the job, its results exist. Repeating it has no further effect. */
function replaceResults<Job extends Replaceable>(
  job: Job,
  {
    by,
    ofRound = 1,
    sourceCreatedAt = job.createdAt,
    insteadOf,
  }: Extract<ReplacementEvent, { kind: 'replace-results' }>,
): Job | Refusal {
  if (sourceCreatedAt !== job.createdAt)
    return { refused: 'the job whose pages were read is gone: another has its id' };
  if (by === job.jobId) return { refused: 'a job cannot replace its own data' };
  const [present, wanted] = [replacementOf(job), { by, round: ofRound }];
  if (isSameReplacement(present, wanted)) return job;
  if (insteadOf !== undefined && !isSameReplacement(present, insteadOf)) return OTHER_REPLACEMENT;
  return replaced(job, wanted);
}

function replaced<Job extends Replaceable>(job: Job, replacement: Replacement | null): Job {
  const { replacedBy: _by, replacedRound: _round, recovering: _recovering, ...rest } = job;
  const isOver = job.status === 'completed' || job.status === 'cancelled' || isFinishing(job);
  const round = replacement === null || replacement.round === 1 ? {} : { replacedRound: replacement.round };
  const by = replacement === null ? {} : { replacedBy: replacement.by, ...round };
  const recovering = replacement !== null && job.counts.failed > 0 ? ({ recovering: true } as const) : {};
  return { ...(rest as Job), ...by, ...recovering, ...(isOver ? newRound(job) : {}) };
}

/** Refused if other data were put in place meanwhile, which still have to be examined. */
function endRecovery<Job extends Replaceable>(
  job: Job,
  { by, ofRound = 1 }: Extract<ReplacementEvent, { kind: 'recovered' }>,
): Job | Refusal {
  const { recovering, ...rest } = job;
  if (!recovering || !isSameReplacement(replacementOf(job), { by, round: ofRound })) return notInPlace(by);
  return rest as Job;
}

function notInPlace(by: string): Refusal {
  return { refused: `failed items are not being recovered from ${by}` };
}

/**
 * This many failed items became successes through what `by` read from their pages. What the site did stays in the
 * tally.
 */
export function whenRecovered<Job extends Replaceable>(job: Job, by: string, items: number): Job | Refusal {
  if (job.removing) return BEING_DELETED;
  if (!job.recovering || job.replacedBy !== by) return notInPlace(by);
  const { counts, recoveredFrom = [] } = job;
  if (items === 0) return job;
  return {
    ...job,
    counts: { ...counts, failed: counts.failed - items, success: counts.success + items },
    recoveredFrom: recoveredFrom.includes(by) ? recoveredFrom : [...recoveredFrom, by],
  };
}
