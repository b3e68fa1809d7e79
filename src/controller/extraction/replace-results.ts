import type { JobRecord } from '../../domain/job.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JobBook } from '../../ports/ledger.ts';

export type ReplaceAnswer =
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly because: string }
  /** `source` is the older one, whose index is made anew. */
  | { readonly kind: 'replaced'; readonly source: JobRecord };

export interface ReplaceParts {
  readonly ledger: Pick<JobBook, 'job' | 'changeJob'>;
  readonly clock: Clock;
}

/** Lets the data of a finished re-extraction stand for those of the job that it read. Said twice, it is done once. */
export async function replaceResults({ ledger, clock }: ReplaceParts, extractionJobId: string): Promise<ReplaceAnswer> {
  const extraction = await ledger.job(extractionJobId);
  if (extraction === null) return { kind: 'missing' };
  const { extracts, status, sourceCreatedAt } = extraction;
  if (extraction.removing) return refused(`the job ${extractionJobId} is being deleted`);
  if (extracts === undefined) return refused(`the job ${extractionJobId} is no re-extraction`);
  if (status !== 'completed') {
    return refused(`the job ${extractionJobId} is ${status}: only what is completed can replace older results`);
  }
  // A retry of what it could not read makes another round of it, which may be put in place as well.
  const event = {
    kind: 'replace-results',
    by: extractionJobId,
    ofRound: extraction.round,
    ...(sourceCreatedAt === undefined ? {} : { sourceCreatedAt }),
  } as const;
  const answer = await ledger.changeJob(extracts, event, clock.now());
  if (answer === 'missing') return refused(`the job ${extracts}, whose pages it read, is gone`);
  return 'refused' in answer ? refused(answer.refused) : { kind: 'replaced', source: answer };
}

/** Why a job must not be deleted; null if it may be. */
export async function mayRemove(
  job: Pick<JobRecord, 'jobId' | 'extracts'>,
  ledger: Pick<JobBook, 'job'>,
): Promise<string | null> {
  const source = job.extracts === undefined ? null : await ledger.job(job.extracts);
  if (source?.replacedBy !== job.jobId) return null;
  return `its data stand for those of the job ${source.jobId}: delete that one first, or replace its results by others`;
}

function refused(because: string): ReplaceAnswer {
  return { kind: 'refused', because };
}
