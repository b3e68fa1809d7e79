import { jobStatusAnswerSchema, retriedSchema } from '../../../contract/job-answers.ts';
import { Problem, sentence } from '../../../contract/problem.ts';
import { jobPath, nothing, retryBody } from '../../../contract/requests.ts';
import type { JobEvent } from '../../../domain/job.ts';
import { presentStatus } from '../../jobs/present-job.ts';
import { retryItems } from '../../jobs/retry.ts';
import { type ApiDeps, jobOf, noJob } from '../api-deps.ts';
import { jsonAnswer, jsonBody, type Operation, operation } from '../operation.ts';

const RETRY_LIMIT_BYTES = 16 << 20;
const RETRY_EXAMPLE = { error_type: 'server_error', preview: true };

/** What a user can do to a job that exists: start, pause, resume, cancel, retry. */
export function steerJobOperations(deps: ApiDeps): Operation[] {
  return [
    step(deps, 'start', 'Start a held job', 'Items can still be added.', { kind: 'start' }),
    step(deps, 'pause', 'Stop dispatching items; those in flight finish', 'Pausing a paused job changes nothing.', {
      kind: 'pause',
      reason: { code: 'user', message: 'paused by a user', evidence: [] },
    }),
    step(
      deps,
      'resume',
      'Resume a job and close its circuit breaker',
      'For a job that is paused or failed. Failed items stay failed: see retry.',
      { kind: 'resume' },
    ),
    step(
      deps,
      'cancel',
      'Cancel a job permanently; items that are not in flight are cancelled',
      'Items in flight finish, and their results are kept.',
      { kind: 'cancel' },
    ),
    retryOperation(deps),
  ];
}

function step(
  deps: ApiDeps,
  name: 'start' | 'pause' | 'resume' | 'cancel',
  summary: string,
  description: string,
  event: JobEvent,
) {
  return operation({
    id: `${name}Job`,
    method: 'POST',
    path: `/jobs/{job_id}/${name}`,
    tag: 'jobs',
    summary,
    description,
    access: 'full',
    params: jobPath,
    body: jsonBody(nothing, {}, { isOptional: true }),
    answers: { 200: jsonAnswer('The new status of the job.', jobStatusAnswerSchema) },
    problems: ['job_not_found', 'state_conflict'],
    async handle({ params: { job_id: jobId } }) {
      const answer = await deps.ledger.changeJob(jobId, event, deps.clock.now());
      if (answer === 'missing') return noJob(jobId);
      if ('refused' in answer) throw new Problem('state_conflict', sentence(answer.refused));
      return { status: 200, json: presentStatus(answer, deps.clock.now()) };
    },
  });
}

function retryOperation(deps: ApiDeps): Operation {
  return operation({
    id: 'retryJob',
    method: 'POST',
    path: '/jobs/{job_id}/retry',
    tag: 'jobs',
    summary: 'Reopen failed items, or count them',
    description:
      'All failed items, those of one `error_type` or of one `group` of failures, or the given `item_ids`; an item must meet ' +
      'every condition given. A job that had stopped also continues with its other items; a completed one begins a new round.',
    access: 'full',
    params: jobPath,
    body: jsonBody(retryBody, RETRY_EXAMPLE, { isOptional: true, limitBytes: RETRY_LIMIT_BYTES }),
    answers: { 200: jsonAnswer('How many items were reopened, or would be.', retriedSchema) },
    problems: ['job_not_found', 'state_conflict', 'too_large'],
    async handle({ params: { job_id: jobId }, body }) {
      const { error_type: errorType, item_ids: itemIds, group, preview } = body;
      const wanted = { errorType: errorType ?? null, itemIds: itemIds ?? null, group: group ?? null, preview };
      const answer = await retryItems(deps, jobId, wanted);
      if (answer.kind === 'missing') return noJob(jobId);
      if (answer.kind === 'refused') throw new Problem('state_conflict', sentence(answer.because));
      const { status } = await jobOf(deps, jobId);
      return { status: 200, json: { job_id: jobId, status, preview, items: answer.items } };
    },
  });
}
