import { createdSchema } from '../../../contract/job-answers.ts';
import { newJobHeaders, newJobSchema } from '../../../contract/new-job.ts';
import { Problem } from '../../../contract/problem.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { presentCreated } from '../../jobs/present-job.ts';
import { submitJobStream } from '../../jobs/submit-stream.ts';
import { type ApiDeps, laneWarnings, proxyWarningsOf, refuseExisting, scraperWarnings } from '../api-deps.ts';
import { bodyBytes } from '../body-bytes.ts';
import { requireJson } from '../media-type.ts';
import { checked, jsonAnswer, type Operation, operation } from '../operation.ts';

const EXAMPLE = {
  job_id: 'parcels',
  scraper_id: 'demo-parcel',
  items: [{ input: { apn: '101-01-001' } }, { item_id: 'second', input: { apn: '101-01-002' } }],
  execution_policy: { throttling: { max_concurrent_workers: 5 } },
  labels: { county: 'demo' },
};

export function createJobOperation(deps: ApiDeps): Operation {
  return operation({
    id: 'createJob',
    method: 'POST',
    path: '/jobs',
    tag: 'jobs',
    summary: 'Create a job',
    description:
      'A job is created completely or not at all. The body is streamed, so a million items take constant memory, and the ' +
      'job is neither visible nor started until the last item has arrived and all of them are valid. Fields may precede or ' +
      'follow the items. The body may be compressed (`Content-Encoding: gzip`). ' +
      'Repeating a request with the same `Idempotency-Key` never creates a second job, and gets the same answer as the ' +
      'first. A `job_id` that is taken is rejected, even while the earlier job with that id is being deleted.',
    access: 'full',
    headers: {
      'Idempotency-Key': 'Requests with the same key and body create only one job. 1 to 255 characters.',
      'Content-Encoding': '`gzip` if the body is compressed.',
    },
    body: { kind: 'stream', contentTypes: { 'application/json': { schema: newJobSchema, example: EXAMPLE } } },
    answers: {
      201: jsonAnswer('The job was created.', createdSchema, { Location: 'The path of the job.' }),
      200: jsonAnswer('An earlier request with the same Idempotency-Key created the job.', createdSchema),
    },
    problems: ['job_exists', 'job_being_removed', 'idempotency_key_reused', 'too_large'],
    async handle({ stream, header, signal }) {
      const key = header('idempotency-key');
      checked(newJobHeaders, key === null ? {} : { 'Idempotency-Key': key }, 'headers');
      requireJson(header);
      const limits = { sentBytes: deps.maxBodyBytes, unpackedBytes: deps.maxBodyBytes };
      const bytes = bodyBytes(stream, header, limits);
      const answer = await submitJobStream(deps, bytes, { idempotencyKey: key, signal });
      switch (answer.kind) {
        case 'malformed':
          throw new Problem('malformed_request', `The body is not a valid job: ${answer.message}.`);
        case 'bad':
          throw new Problem('invalid_request', 'The job cannot be created: see errors.', answer.problems);
        case 'exists':
        case 'being-removed':
        case 'key-reused':
          return refuseExisting(answer.kind, answer.job);
        case 'replayed':
          return {
            status: 200,
            json: presentCreated(answer.job, [...answer.warnings, ...(await jobWarnings(deps, answer.job))]),
          };
        case 'created': {
          const location = `/jobs/${encodeURIComponent(answer.job.jobId)}`;
          return {
            status: 201,
            headers: { location },
            json: presentCreated(answer.job, [...answer.warnings, ...(await jobWarnings(deps, answer.job))]),
          };
        }
      }
    },
  });
}

async function jobWarnings(deps: ApiDeps, job: JobRecord) {
  const aboutProxy = proxyWarningsOf(deps, job);
  for (const { path, message } of aboutProxy)
    deps.log.warn({ job_id: job.jobId, path, problem: message }, 'part of the policy cannot be carried out');
  return [...laneWarnings(deps, job), ...(await scraperWarnings(deps, job)), ...aboutProxy];
}
