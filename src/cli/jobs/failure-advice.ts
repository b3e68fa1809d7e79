import type { BulkJobAnswer } from '../../contract/bulk-answers.ts';
import type { FailureGroupAnswer } from '../../contract/failure-answers.ts';
import type { JobAnswer } from '../../contract/job-answers.ts';
import type { FailureType } from '../../domain/failure.ts';
import { printable } from '../format.ts';

/** What to do about failures that a retry alone would only repeat. Types without an entry are worth a retry. */
const INSTEAD: Partial<Record<FailureType, string>> = {
  no_results: 'the site has no such item: check the input',
  not_found: 'the site has no such item: check the input',
  invalid_input: 'correct the input in the list and send the list again',
  too_large: 'the page or document is over a size limit: see the message',
  refused_address: 'the address is not allowed: correct the input, or see TRAWL_ALLOW_ADDRESSES',
  poison: 'the item ended its worker process three times: see the log',
};

/** Failures that the author of the scraper can do something about. */
const FOR_THE_AUTHOR: Partial<Record<FailureType, string>> = {
  structure_changed: 'the page is not as expected',
  invalid_output: 'the data break the output schema',
};

/** A recording needs its site: it cannot be carried out on stored pages. */
function adviceFor(type: FailureType, job: Failed): string {
  const wrong = FOR_THE_AUTHOR[type];
  if (wrong === undefined) return INSTEAD[type] ?? 'a retry would fail the same way';
  if (hasRecording(job)) return `${wrong}: repair the recording, then scrape these items again`;
  return `${wrong}: repair the scraper, then parse the stored pages again`;
}

function hasRecording({ steps }: Failed): boolean {
  return steps != null;
}

/** A bulk job has examples of failed pages in `errors`, and its groups elsewhere. */
type GroupedJob = Pick<JobAnswer, 'errors' | 'reason'> | Pick<BulkJobAnswer, 'failures' | 'reason'>;
type Failed = GroupedJob & Pick<JobAnswer, 'summary'> & Partial<Pick<JobAnswer, 'steps'>>;

/** Whether retrying failed items may help without changing anything else. Groups that are not shown may be worth it. */
export function isWorthRetrying(job: Failed): boolean {
  const { failed } = job.summary;
  if (failed === 0) return false;
  const groups = groupsOf(job);
  const permanent = groups.filter(isPermanent).reduce((sum, { count }) => sum + count, 0);
  return permanent < failed;
}

/** What to do about failures for which a retry is not recommended; no lines if there are none. */
export function adviceLines(job: Failed): string[] {
  const byAdvice = new Map<string, Set<string>>();
  for (const { type } of groupsOf(job).filter(isPermanent)) {
    const advice = adviceFor(type, job);
    byAdvice.set(advice, (byAdvice.get(advice) ?? new Set()).add(printable(type, 40)));
  }
  if (byAdvice.size === 0) return [];
  return [
    '',
    'A retry by itself does not help these:',
    ...[...byAdvice].map(([advice, types]) => `  ${[...types].join(', ')}: ${advice}`),
  ];
}

/** Whether a repaired scraper can turn some of the failures into successes, from the stored pages. */
export function isForTheAuthor(job: Failed): boolean {
  return !hasRecording(job) && groupsOf(job).some(({ type }) => FOR_THE_AUTHOR[type] !== undefined);
}

/** The known failures: while a job runs, those that stopped it. */
export function groupsOf(job: GroupedJob): readonly FailureGroupAnswer[] {
  const groups = 'failures' in job ? job.failures : job.errors;
  return groups.length > 0 ? groups : (job.reason?.evidence ?? []);
}

/** A failure such as a missing secret or proxy: once it is set, the same retry succeeds. */
function isPermanent({ type, retryable }: FailureGroupAnswer): boolean {
  return !retryable && type !== 'proxy_config';
}
