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
 * Makes the data of a finished re-extraction replace those of the job that it read. Repeating it has no further effect.
 * The re-extraction may be deleted at the same moment. A deletion marks it first, and then checks whether its data
 * replace others (`Remover`); here the data are put in place first, and then we check for that mark. So at least one of
 * the two sees the other: either the deletion is called off, or the older data are put back, or both.
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
  // A retry of items it could not read creates another round of it, which may also be put in place.
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
