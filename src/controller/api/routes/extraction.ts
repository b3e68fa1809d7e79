import { changesSchema, extractedSchema, jobStatusAnswerSchema } from '../../../contract/answers.ts';
import { Problem, sentence } from '../../../contract/problem.ts';
import { emptyBody, extractBody, jobPath, noQuery } from '../../../contract/requests.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { beginExtraction } from '../../extraction/begin-extraction.ts';
import { replaceResults } from '../../extraction/replace-results.ts';
import { presentCreated, presentStatus } from '../../jobs/present-job.ts';
import { jsonAnswer, jsonBody, NO_BODY, type Operation, operation } from '../operation.ts';
import { type ApiParts, jobOf, laneWarnings, noJob, stillBeingRemoved } from '../parts.ts';

const EXTRACT_EXAMPLE = { job_id: 'parcels-again', labels: { why: 'owners' } };

/** Failed items are recovered by whichever process leads: a few are done in no time, a million in minutes. */
const PATIENCE_MS = 5000;
const LOOK_EVERY_MS = 50;

async function unlessLong({ ledger, clock }: ApiParts, replaced: JobRecord): Promise<JobRecord> {
  const until = clock.elapsed() + PATIENCE_MS;
  let job = replaced;
  while (job.recovering && clock.elapsed() < until) {
    await clock.sleep(LOOK_EVERY_MS);
    const current = await ledger.job(job.jobId);
    if (current === null) break;
    job = current;
  }
  return job;
}

export function extractionOperations(parts: ApiParts): Operation[] {
  return [
    operation({
      id: 'extractJob',
      method: 'POST',
      path: '/jobs/{job_id}/extract',
      tag: 'results',
      summary: 'Run a newer parse over the pages that a job kept, without a request',
      description:
        'Makes a job of its own, of all items that have a stored page, failed ones too. When it is over, `GET /jobs/{job_id}/changes` of the new job tells which fields are ' +
        'different, and `POST /jobs/{job_id}/replace` puts its data in the place of the old. The same request under the ' +
        'same `job_id` never makes a second job.',
      access: 'full',
      params: jobPath,
      query: noQuery,
      body: jsonBody(extractBody, EXTRACT_EXAMPLE, { isOptional: true }),
      answers: {
        201: jsonAnswer('The job was made and started.', extractedSchema, { Location: 'The path of the new job.' }),
        200: jsonAnswer('The same request had made it before (job_id).', extractedSchema),
      },
      problems: ['job_not_found', 'job_exists', 'job_being_removed', 'state_conflict'],
      async handle({ params: { job_id: jobId }, body }) {
        const answer = await beginExtraction(parts, jobId, body);
        switch (answer.kind) {
          case 'missing':
            return noJob(jobId);
          case 'bad':
            throw new Problem('invalid_request', 'The pages cannot be extracted: see errors.', answer.problems);
          case 'exists':
            throw new Problem('job_exists', `There is a job ${answer.job.jobId} already, which is something else.`);
          case 'being-removed':
            return stillBeingRemoved(answer.job.jobId);
          case 'nothing':
            throw new Problem('state_conflict', sentence(answer.message));
          case 'begun': {
            const { job, withoutPage, isNew } = answer;
            const json = {
              ...presentCreated(job, laneWarnings(parts, job)),
              extracts: jobId,
              without_page: withoutPage,
            };
            if (!isNew) return { status: 200, json };
            return { status: 201, headers: { location: `/jobs/${encodeURIComponent(job.jobId)}` }, json };
          }
        }
      },
    }),
    operation({
      id: 'getChanges',
      method: 'GET',
      path: '/jobs/{job_id}/changes',
      tag: 'results',
      summary: 'What a re-extraction found different, field by field',
      description:
        'The data are compared once the job is over: ask again until `state` is `complete`. Nothing is replaced by it.',
      access: 'read',
      params: jobPath,
      query: noQuery,
      body: NO_BODY,
      answers: { 200: jsonAnswer('The changes, as far as they are known.', changesSchema) },
      problems: ['job_not_found', 'state_conflict'],
      async handle({ params: { job_id: jobId } }) {
        const job = await jobOf(parts, jobId);
        const changes = await parts.changes.changesOf(job);
        if (changes === null) throw new Problem('state_conflict', `The job ${jobId} is no re-extraction.`);
        return { status: 200, json: changes };
      },
    }),
    operation({
      id: 'replaceResults',
      method: 'POST',
      path: '/jobs/{job_id}/replace',
      tag: 'results',
      summary: 'Put the data of a re-extraction in the place of the old',
      description:
        'The results of the older job are the new ones from then on, wherever there is one. Items that had failed and can ' +
        'be read now become successes of the older job. That is done in the background where there are many: `recovering` ' +
        'of the older job is false when its counts are final.',
      access: 'full',
      params: jobPath,
      query: noQuery,
      body: jsonBody(emptyBody, {}, { isOptional: true }),
      answers: { 200: jsonAnswer('How the older job stands.', jobStatusAnswerSchema) },
      problems: ['job_not_found', 'state_conflict'],
      async handle({ params: { job_id: jobId } }) {
        const answer = await replaceResults(parts, jobId);
        if (answer.kind === 'missing') return noJob(jobId);
        if (answer.kind === 'refused') throw new Problem('state_conflict', sentence(answer.because));
        const settled = await unlessLong(parts, answer.source);
        return { status: 200, json: presentStatus(settled) };
      },
    }),
  ];
}
