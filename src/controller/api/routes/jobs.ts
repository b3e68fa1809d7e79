import { z } from 'zod';
import {
  createdSchema,
  failuresSchema,
  jobPageSchema,
  jobSchema,
  jobStatusAnswerSchema,
  retriedSchema,
} from '../../../contract/answers.ts';
import { Problem, sentence } from '../../../contract/problem.ts';
import {
  emptyBody,
  failuresQuery,
  jobPath,
  jobsQuery,
  noQuery,
  policyBody,
  retryBody,
} from '../../../contract/requests.ts';
import type { JobEvent } from '../../../domain/job.ts';
import { changePolicy } from '../../jobs/change-policy.ts';
import {
  presentCreated,
  presentFailureGroup,
  presentJob,
  presentJobSummary,
  presentStatus,
} from '../../jobs/present-job.ts';
import { removeJob } from '../../jobs/remove-job.ts';
import { retryItems } from '../../jobs/retry.ts';
import { submitSchema } from '../../jobs/submit.ts';
import { submitJobStream } from '../../jobs/submit-stream.ts';
import { bodyBytes } from '../body-bytes.ts';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import { mediaTypeOf } from '../item-format.ts';
import { jsonAnswer, jsonBody, NO_BODY, type Operation, operation } from '../operation.ts';
import { type ApiParts, jobOf, laneWarnings, noJob, stillBeingRemoved } from '../parts.ts';
import { eventOperations } from './events.ts';

const MIB = 1 << 20;
const RETRY_LIMIT_BYTES = 16 * MIB;
const ERRORS_SHOWN = 10;

const JOB_EXAMPLE = {
  job_id: 'parcels',
  scraper_id: 'demo-parcel',
  items: [{ input: { apn: '101-01-001' } }, { item_id: 'second', input: { apn: '101-01-002' } }],
  execution_policy: { throttling: { max_concurrent_workers: 5 } },
  labels: { county: 'demo' },
};
const RETRY_EXAMPLE = { error_type: 'server_error', preview: true };
const POLICY_EXAMPLE = { execution_policy: { throttling: { max_concurrent_workers: 50 } } };

export function jobOperations(parts: ApiParts): Operation[] {
  const { ledger, clock } = parts;
  return [
    operation({
      id: 'createJob',
      method: 'POST',
      path: '/jobs',
      tag: 'jobs',
      summary: 'Make a job',
      description:
        'All of it or nothing: the body is read as it comes, a million items in constant memory, and nothing of the job is ' +
        'seen or run before the last item is in and all of them are found good. Fields may come before or after the items. ' +
        'The body may be packed (`Content-Encoding: gzip`). ' +
        'The same request under the same `Idempotency-Key` never makes a second job, and is answered as the first was. ' +
        'A `job_id` that is taken is refused, also while the earlier job of that id is being removed.',
      access: 'full',
      params: z.strictObject({}),
      query: noQuery,
      headers: {
        'Idempotency-Key': 'The same key and body never make a second job.',
        'Content-Encoding': 'gzip, if the body is packed with it.',
      },
      body: { kind: 'stream', contentTypes: { 'application/json': { schema: submitSchema, example: JOB_EXAMPLE } } },
      answers: {
        201: jsonAnswer('The job was made.', createdSchema, { Location: 'The path of the job.' }),
        200: jsonAnswer('The same request had made it before (Idempotency-Key).', createdSchema),
      },
      problems: ['job_exists', 'job_being_removed', 'idempotency_key_reused', 'too_large'],
      async handle({ stream, header, signal }) {
        const key = idempotencyKey(header('idempotency-key'));
        mustBeJson(header);
        const limits = { sentBytes: parts.maxBodyBytes, unpackedBytes: parts.maxBodyBytes };
        const bytes = bodyBytes(stream, header, limits);
        const answer = await submitJobStream(parts, bytes, { idempotencyKey: key, signal });
        switch (answer.kind) {
          case 'malformed':
            throw new Problem('malformed_request', `The body cannot be read as a job: ${answer.message}.`);
          case 'bad':
            throw new Problem('invalid_request', 'The job cannot be made: see errors.', answer.problems);
          case 'exists':
            throw new Problem('job_exists', `There is a job ${answer.job.jobId} already. It was left as it is.`);
          case 'being-removed':
            return stillBeingRemoved(answer.job.jobId);
          case 'key-reused':
            throw new Problem('idempotency_key_reused', `The job ${answer.job.jobId} was made by another request.`);
          case 'replayed':
            return {
              status: 200,
              json: presentCreated(answer.job, [...answer.warnings, ...laneWarnings(parts, answer.job)]),
            };
          case 'created': {
            const location = `/jobs/${encodeURIComponent(answer.job.jobId)}`;
            return {
              status: 201,
              headers: { location },
              json: presentCreated(answer.job, [...answer.warnings, ...laneWarnings(parts, answer.job)]),
            };
          }
        }
      },
    }),
    operation({
      id: 'listJobs',
      method: 'GET',
      path: '/jobs',
      tag: 'jobs',
      summary: 'List jobs, newest first',
      description: 'A page may be short and still have a next one: go on until `next_cursor` is null.',
      access: 'read',
      params: z.strictObject({}),
      query: jobsQuery,
      body: NO_BODY,
      answers: { 200: jsonAnswer('A page of jobs.', jobPageSchema) },
      problems: [],
      async handle({ query: { limit, cursor, status } }) {
        const list = `jobs ${status ?? ''}`;
        const page = { after: decodeCursor(list, cursor), limit };
        const { entries, next } = await ledger.jobs({ status: status ?? null, page });
        return {
          status: 200,
          json: { jobs: entries.map(presentJobSummary), next_cursor: encodeCursor(list, next) },
        };
      },
    }),
    operation({
      id: 'getJob',
      method: 'GET',
      path: '/jobs/{job_id}',
      tag: 'jobs',
      summary: 'A job: how far it is, what fails, what it is allowed to do',
      access: 'read',
      params: jobPath,
      query: noQuery,
      body: NO_BODY,
      answers: { 200: jsonAnswer('The job.', jobSchema) },
      problems: ['job_not_found'],
      async handle({ params: { job_id: jobId } }) {
        const job = await jobOf(parts, jobId);
        const failures = await ledger.failureGroups(jobId, ERRORS_SHOWN);
        const more = { failures, perSecond: parts.rates.perSecond(jobId), now: clock.now() };
        return { status: 200, json: presentJob(job, more) };
      },
    }),
    operation({
      id: 'getJobStatus',
      method: 'GET',
      path: '/jobs/{job_id}/status',
      tag: 'jobs',
      summary: 'Status and counts only: for whoever asks often',
      access: 'read',
      params: jobPath,
      query: noQuery,
      body: NO_BODY,
      answers: { 200: jsonAnswer('Status and counts.', jobStatusAnswerSchema) },
      problems: ['job_not_found'],
      async handle({ params: { job_id: jobId } }) {
        return { status: 200, json: presentStatus(await jobOf(parts, jobId)) };
      },
    }),
    step(parts, 'start', 'Start a job that was held', 'Items can still be added.', { kind: 'start' }),
    step(parts, 'pause', 'Stop dispatching; what is in flight ends by itself', 'Said twice, it is done once.', {
      kind: 'pause',
      reason: { code: 'user', message: 'paused by a user', evidence: [] },
    }),
    step(
      parts,
      'resume',
      'Go on, and close the circuit if it was open',
      'For a job that is paused or failed. Items that failed stay so: see retry.',
      { kind: 'resume' },
    ),
    step(
      parts,
      'cancel',
      'End the job for good; what is not in flight is cancelled',
      'What is in flight ends by itself, and its results are kept.',
      { kind: 'cancel' },
    ),
    ...eventOperations(parts),
    operation({
      id: 'retryJob',
      method: 'POST',
      path: '/jobs/{job_id}/retry',
      tag: 'jobs',
      summary: 'Open failed items again, or count those that would be',
      description:
        'All that failed, those of one `error_type`, or some `item_ids`. A job that had stopped goes on with the rest, too; ' +
        'a completed one begins a new round.',
      access: 'full',
      params: jobPath,
      query: noQuery,
      body: jsonBody(retryBody, RETRY_EXAMPLE, { isOptional: true, limitBytes: RETRY_LIMIT_BYTES }),
      answers: { 200: jsonAnswer('How many items were opened, or would be.', retriedSchema) },
      problems: ['job_not_found', 'state_conflict', 'too_large'],
      async handle({ params: { job_id: jobId }, body }) {
        const { error_type: errorType, item_ids: itemIds, preview } = body;
        const filter = { errorType: errorType ?? null, itemIds: itemIds ?? null, preview };
        const answer = await retryItems(parts, jobId, filter);
        if (answer.kind === 'missing') return noJob(jobId);
        if (answer.kind === 'refused') throw new Problem('state_conflict', sentence(answer.because));
        const { status } = await jobOf(parts, jobId);
        return { status: 200, json: { job_id: jobId, status, preview, items: answer.items } };
      },
    }),
    operation({
      id: 'changeJob',
      method: 'PATCH',
      path: '/jobs/{job_id}',
      tag: 'jobs',
      summary: 'Change the policy of a job while it runs',
      description:
        'Fields that are named are changed, the others stay. Workers go by the new policy from their next item on.',
      access: 'full',
      params: jobPath,
      query: noQuery,
      body: jsonBody(policyBody, POLICY_EXAMPLE),
      answers: { 200: jsonAnswer('The job with its new policy.', jobSchema) },
      problems: ['job_not_found', 'state_conflict'],
      async handle({ params: { job_id: jobId }, body }) {
        const answer = await changePolicy(parts, jobId, body.execution_policy);
        switch (answer.kind) {
          case 'missing':
            return noJob(jobId);
          case 'bad':
            throw new Problem('invalid_request', 'The policy cannot be used: see errors.', answer.problems);
          case 'refused':
            throw new Problem('state_conflict', sentence(answer.because));
          case 'changed': {
            const failures = await ledger.failureGroups(jobId, ERRORS_SHOWN);
            const more = { failures, perSecond: parts.rates.perSecond(jobId), now: clock.now() };
            return { status: 200, json: presentJob(answer.job, more) };
          }
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
        'is 202, and the rest is done in the background, also after a restart. Until then `GET` shows the job with ' +
        '`removing`, and its id cannot be used again. A second `DELETE` of the same job joins the first.',
      access: 'full',
      params: jobPath,
      query: noQuery,
      body: NO_BODY,
      answers: {
        204: { description: 'The job and its results are gone, and its id is free.' },
        202: jsonAnswer('The job is being deleted. `GET` answers 404 when it is gone.', jobStatusAnswerSchema),
      },
      problems: ['job_not_found', 'state_conflict'],
      async handle({ params: { job_id: jobId } }) {
        const answer = await removeJob(parts, jobId);
        if (answer.kind === 'missing') return noJob(jobId);
        if (answer.kind === 'refused') throw new Problem('state_conflict', sentence(answer.because));
        if (answer.kind === 'removing') return { status: 202, json: presentStatus(answer.job) };
        return { status: 204, empty: true };
      },
    }),
    operation({
      id: 'listFailures',
      method: 'GET',
      path: '/jobs/{job_id}/failures',
      tag: 'jobs',
      summary: 'Failures grouped: type, message without particulars, make of the page',
      description: 'A site that changed is one group, however many items it hit.',
      access: 'read',
      params: jobPath,
      query: failuresQuery,
      body: NO_BODY,
      answers: { 200: jsonAnswer('Groups, commonest first.', failuresSchema) },
      problems: ['job_not_found'],
      async handle({ params: { job_id: jobId }, query: { limit } }) {
        const { counts } = await jobOf(parts, jobId);
        const groups = await ledger.failureGroups(jobId, limit);
        return {
          status: 200,
          json: { job_id: jobId, failed: counts.failed, groups: groups.map(presentFailureGroup) },
        };
      },
    }),
  ];
}

/** An event that a user sends to a job. */
function step(
  parts: ApiParts,
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
    query: noQuery,
    body: jsonBody(emptyBody, {}, { isOptional: true }),
    answers: { 200: jsonAnswer('How the job stands now.', jobStatusAnswerSchema) },
    problems: ['job_not_found', 'state_conflict'],
    async handle({ params: { job_id: jobId } }) {
      const answer = await parts.ledger.changeJob(jobId, event, parts.clock.now());
      if (answer === 'missing') return noJob(jobId);
      if ('refused' in answer) throw new Problem('state_conflict', sentence(answer.refused));
      return { status: 200, json: presentStatus(answer) };
    },
  });
}

/** A body of another type is refused; nothing at all is told apart from it. */
function mustBeJson(header: (name: string) => string | null): void {
  const type = header('content-type');
  if (mediaTypeOf(type) === 'application/json') return;
  if (type === null && header('transfer-encoding') === null && Number(header('content-length') ?? 0) === 0) {
    throw new Problem('malformed_request', 'The request has no body: send JSON, with Content-Type: application/json.');
  }
  throw new Problem('unsupported_media_type', 'Send JSON, with Content-Type: application/json.');
}

const MAX_KEY_LENGTH = 255;

function idempotencyKey(header: string | null): string | null {
  if (header === null) return null;
  if (header !== '' && header.length <= MAX_KEY_LENGTH) return header;
  const message = `it must have 1 to ${MAX_KEY_LENGTH} characters`;
  throw new Problem('invalid_request', 'The Idempotency-Key cannot be used.', [{ path: 'Idempotency-Key', message }]);
}
