import { z } from 'zod';
import { bulkJobSchema } from '../../../contract/bulk-answers.ts';
import { failuresSchema } from '../../../contract/failure-answers.ts';
import { jobPageSchema, jobSchema, jobStatusAnswerSchema } from '../../../contract/job-answers.ts';
import { policyBody } from '../../../contract/policy-change.ts';
import { Problem, sentence } from '../../../contract/problem.ts';
import { failuresQuery, jobPath, jobsQuery } from '../../../contract/requests.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { isBulk, presentBulkJob, presentBulkSummary, readBulkErrors } from '../../jobs/bulk/present-bulk.ts';
import { changePolicy } from '../../jobs/change-policy.ts';
import { presentFailureGroup } from '../../jobs/failure-groups.ts';
import { presentJob, presentJobSummary, presentStatus } from '../../jobs/present-job.ts';
import { removeJob } from '../../jobs/remove-job.ts';
import { type ApiDeps, jobOf, noJob, proxyWarningsOf, scraperWarnings } from '../api-deps.ts';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import { jsonAnswer, jsonBody, type Operation, operation } from '../operation.ts';

const ERRORS_SHOWN = 10;
/** Failures by step are counted from all of them. */
const ALL_GROUPS = Number.MAX_SAFE_INTEGER;
const POLICY_EXAMPLE = { execution_policy: { throttling: { max_concurrent_workers: 50 } } };

const anyJobSchema = z.union([jobSchema, bulkJobSchema]);

/** Jobs that exist: list, read, change and delete them. */
export function jobOperations(deps: ApiDeps): Operation[] {
  const { ledger, clock } = deps;
  const present = async (job: JobRecord) => {
    const [failures, steps] = await Promise.all([
      ledger.failureGroups(job.jobId, ALL_GROUPS),
      deps.stepRecords.ofJob(job),
    ]);
    const warnings = [...(await scraperWarnings(deps, job)), ...proxyWarningsOf(deps, job)];
    const now = clock.now();
    const waits = deps.itemWaits.ofJob(job.jobId, now);
    const usual = presentJob(job, { failures, steps, warnings, waits, pace: deps.rates.pace(job.jobId), now });
    if (!isBulk(job)) return usual;
    return presentBulkJob(job, usual, {
      errors: await readBulkErrors(ledger, job, failures.slice(0, ERRORS_SHOWN)),
      now,
    });
  };
  return [
    operation({
      id: 'listJobs',
      method: 'GET',
      path: '/jobs',
      tag: 'jobs',
      summary: 'List jobs, newest first',
      description: 'A page may be short and still not be the last: continue until `next_cursor` is null.',
      access: 'read',
      query: jobsQuery,
      answers: { 200: jsonAnswer('A page of jobs.', jobPageSchema) },
      async handle({ query: { limit, cursor, status } }) {
        const list = `jobs ${status ?? ''}`;
        const page = { after: decodeCursor(list, cursor), limit };
        const { entries, next } = await ledger.jobs({ status: status ?? null, page });
        return {
          status: 200,
          json: { jobs: entries.map(presentListedJob), next_cursor: encodeCursor(list, next) },
        };
      },
    }),
    operation({
      id: 'getJob',
      method: 'GET',
      path: '/jobs/{job_id}',
      tag: 'jobs',
      summary: 'Get a job: its progress, its failures and its policy',
      access: 'read',
      params: jobPath,
      answers: { 200: jsonAnswer('The job.', anyJobSchema) },
      problems: ['job_not_found'],
      async handle({ params: { job_id: jobId } }) {
        return { status: 200, json: await present(await jobOf(deps, jobId)) };
      },
    }),
    operation({
      id: 'getJobStatus',
      method: 'GET',
      path: '/jobs/{job_id}/status',
      tag: 'jobs',
      summary: 'Get only the status and counts of a job, for frequent polling',
      access: 'read',
      params: jobPath,
      answers: { 200: jsonAnswer('Status and counts.', jobStatusAnswerSchema) },
      problems: ['job_not_found'],
      async handle({ params: { job_id: jobId } }) {
        return { status: 200, json: presentStatus(await jobOf(deps, jobId), deps.clock.now()) };
      },
    }),
    operation({
      id: 'changeJob',
      method: 'PATCH',
      path: '/jobs/{job_id}',
      tag: 'jobs',
      summary: 'Change the policy of a job while it runs',
      description: 'Fields that are not given stay as they are. Workers follow the new policy from their next item on.',
      access: 'full',
      params: jobPath,
      body: jsonBody(policyBody, POLICY_EXAMPLE),
      answers: { 200: jsonAnswer('The job with its new policy.', anyJobSchema) },
      problems: ['job_not_found', 'state_conflict'],
      async handle({ params: { job_id: jobId }, body }) {
        const answer = await changePolicy(deps, jobId, body.execution_policy);
        switch (answer.kind) {
          case 'missing':
            return noJob(jobId);
          case 'bad':
            throw new Problem('invalid_request', 'The policy cannot be used: see errors.', answer.problems);
          case 'refused':
            throw new Problem('state_conflict', sentence(answer.because));
          case 'changed':
            return { status: 200, json: await present(answer.job) };
        }
      },
    }),
    operation({
      id: 'deleteJob',
      method: 'DELETE',
      path: '/jobs/{job_id}',
      tag: 'jobs',
      summary: 'Delete a job and its results',
      description:
        'Cancel or pause a job that is in progress first. Deleting many results takes a while: after two seconds the answer ' +
        'is 202, and the deletion continues in the background, even after a restart. Until then `GET` shows the job with ' +
        '`removing`, and its id cannot be reused. A second `DELETE` of the same job joins the first.',
      access: 'full',
      params: jobPath,
      answers: {
        204: { description: 'The job and its results are gone, and its id can be reused.' },
        202: jsonAnswer('The job is being deleted. `GET` answers 404 once it is gone.', jobStatusAnswerSchema),
      },
      problems: ['job_not_found', 'state_conflict'],
      async handle({ params: { job_id: jobId } }) {
        const answer = await removeJob(deps, jobId);
        if (answer.kind === 'missing') return noJob(jobId);
        if (answer.kind === 'refused') throw new Problem('state_conflict', sentence(answer.because));
        if (answer.kind === 'removing') return { status: 202, json: presentStatus(answer.job, deps.clock.now()) };
        return { status: 204, empty: true };
      },
    }),
    operation({
      id: 'listFailures',
      method: 'GET',
      path: '/jobs/{job_id}/failures',
      tag: 'jobs',
      summary: 'List failures, grouped by type, message, address and page layout',
      description:
        'When a site changes, the failures form one group, regardless of how many items they affected. Pages of the first ' +
        'items of each group are kept (`results.keep_failures`): an example links to its page. `retry` takes the `id` of a group.',
      access: 'read',
      params: jobPath,
      query: failuresQuery,
      answers: { 200: jsonAnswer('Groups, most frequent first.', failuresSchema) },
      problems: ['job_not_found'],
      async handle({ params: { job_id: jobId }, query: { limit } }) {
        const { counts } = await jobOf(deps, jobId);
        const groups = await ledger.failureGroups(jobId, limit);
        const shown = groups.map((group) => presentFailureGroup(jobId, group));
        return { status: 200, json: { job_id: jobId, failed: counts.failed, groups: shown } };
      },
    }),
  ];
}

function presentListedJob(job: JobRecord) {
  return isBulk(job) ? { ...presentJobSummary(job), ...presentBulkSummary(job) } : presentJobSummary(job);
}
