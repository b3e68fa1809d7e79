import type { JobRecord } from '../../domain/job.ts';
import { replacementOf } from '../../domain/job-replacement.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JobBook } from '../../ports/ledger.ts';

type ReplaceAnswer =
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly because: string }
  /** `source` is the older job, whose index is written again. */
  | { readonly kind: 'replaced'; readonly source: JobRecord };

interface ReplaceDeps {
  readonly ledger: Pick<JobBook, 'job' | 'changeJob'>;
  readonly clock: Clock;
}

/**
 * Lets the data of a finished re-extraction stand for those of the job that it read. Said twice, it is done once.
 *
 * It may be deleted at the same moment. A deletion marks the re-extraction first, and then looks whether its data stand
 * for others (`Remover`); here they are put in place first, and then we look for that mark. So one of the two sees the
 * other at least: either the deletion is called off, or the older data are put back, or both.
 */
export async function replaceResults({ ledger, clock }: ReplaceDeps, extractionJobId: string): Promise<ReplaceAnswer> {
  const extraction = await ledger.job(extractionJobId);
  if (extraction === null) return { kind: 'missing' };
  const { extracts, status, sourceCreatedAt } = extraction;
  if (extraction.removing) return refused(`the job ${extractionJobId} is being deleted`);
  if (extracts === undefined) return refused(`the job ${extractionJobId} is not a re-extraction`);
  if (status !== 'completed') {
    return refused(`the job ${extractionJobId} is ${status}: only a completed job can replace older results`);
  }
  // A retry of what it could not read makes another round of it, which may be put in place as well.
  const event = {
    kind: 'replace-results',
    by: extractionJobId,
    ofRound: extraction.round,
    ...(sourceCreatedAt === undefined ? {} : { sourceCreatedAt }),
  } as const;
  const before = await ledger.job(extracts);
  if (before === null) return refused(`the job ${extracts}, whose pages it read, is gone`);
  const insteadOf = replacementOf(before);
  const answer = await ledger.changeJob(extracts, { ...event, insteadOf }, clock.now());
  if (answer === 'missing') return refused(`the job ${extracts}, whose pages it read, is gone`);
  if ('refused' in answer) return refused(answer.refused);
  const current = await ledger.job(extractionJobId);
  if (current?.incarnation === extraction.incarnation && !current.removing) return { kind: 'replaced', source: answer };
  const by = { by: extractionJobId, round: extraction.round };
  await ledger.changeJob(extracts, { kind: 'withdraw-results', by, insteadOf }, clock.now());
  return refused(`the job ${extractionJobId} is being deleted`);
}

function refused(because: string): ReplaceAnswer {
  return { kind: 'refused', because };
}
