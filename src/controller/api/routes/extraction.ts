import { changesSchema, comparisonSchema, extractedSchema } from '../../../contract/extraction-answers.ts';
import { jobStatusAnswerSchema } from '../../../contract/job-answers.ts';
import { Problem, sentence } from '../../../contract/problem.ts';
import { compareQuery, extractBody, jobPath, nothing } from '../../../contract/requests.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { beginExtraction } from '../../extraction/begin-extraction.ts';
import { replaceResults } from '../../extraction/replace-results.ts';
import { presentCreated, presentStatus } from '../../jobs/present-job.ts';
import { type ApiDeps, jobOf, laneWarnings, noJob, stillBeingRemoved } from '../api-deps.ts';
import { jsonAnswer, jsonBody, type Operation, operation } from '../operation.ts';

const EXTRACT_EXAMPLE = { job_id: 'parcels-again', labels: { why: 'owners' } };

/** The leader recovers failed items in the background: a few take no time, a million takes minutes. */
const PATIENCE_MS = 5000;
const LOOK_EVERY_MS = 50;

async function awaitRecovery({ ledger, clock }: ApiDeps, replaced: JobRecord): Promise<JobRecord> {
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

export function extractionOperations(deps: ApiDeps): Operation[] {
  return [
    operation({
      id: 'extractJob',
      method: 'POST',
      path: '/jobs/{job_id}/extract',
      tag: 'results',
      summary: 'Parse the stored pages of a job again, without contacting the site',
      description:
        'Creates a new job from all items that have a stored page, including failed ones. When it is over, ' +
        '`GET /jobs/{job_id}/changes` of the new job shows which fields differ, and `POST /jobs/{job_id}/replace` replaces ' +
        'the old data. Repeating the request with the same `job_id` never creates a second job.',
      access: 'full',
      params: jobPath,
      body: jsonBody(extractBody, EXTRACT_EXAMPLE, { isOptional: true }),
      answers: {
        201: jsonAnswer('The job was created and started.', extractedSchema, { Location: 'The path of the new job.' }),
        200: jsonAnswer('An earlier request with the same `job_id` created the job.', extractedSchema),
      },
      problems: ['job_not_found', 'job_exists', 'job_being_removed', 'state_conflict'],
      async handle({ params: { job_id: jobId }, body }) {
        const answer = await beginExtraction(deps, jobId, body);
        switch (answer.kind) {
          case 'missing':
            return noJob(jobId);
          case 'bad':
            throw new Problem('invalid_request', 'The re-extraction cannot be created: see errors.', answer.problems);
          case 'exists':
            throw new Problem(
              'job_exists',
              `Job ${answer.job.jobId} already exists and is not this re-extraction. Use another job_id.`,
            );
          case 'being-removed':
            return stillBeingRemoved(answer.job.jobId);
          case 'nothing':
            throw new Problem('state_conflict', sentence(answer.message));
          case 'begun': {
            const { job, withoutPage, isNew } = answer;
            const json = {
              ...presentCreated(job, laneWarnings(deps, job)),
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
      summary: 'Get what a re-extraction found different, field by field',
      description: 'The data are compared once the job is over: poll until `state` is `complete`. Nothing is replaced.',
      access: 'read',
      params: jobPath,
      answers: { 200: jsonAnswer('The changes known so far.', changesSchema) },
      problems: ['job_not_found', 'state_conflict'],
      async handle({ params: { job_id: jobId } }) {
        const job = await jobOf(deps, jobId);
        const changes = await deps.changes.changesOf(job);
        if (changes === null) throw new Problem('state_conflict', `Job ${jobId} is not a re-extraction.`);
        return { status: 200, json: changes };
      },
    }),
    operation({
      id: 'compareJobs',
      method: 'GET',
      path: '/jobs/{job_id}/compare',
      tag: 'results',
      summary: 'Get what is different between the data of two jobs, field by field',
      description:
        'For two runs of the same list: items are matched by their id. The first request starts the comparison: poll until ' +
        '`state` is `complete`. Nothing is changed.',
      access: 'read',
      params: jobPath,
      query: compareQuery,
      answers: { 200: jsonAnswer('The differences known so far.', comparisonSchema) },
      problems: ['job_not_found'],
      async handle({ params: { job_id: jobId }, query }) {
        const [newer, older] = [await jobOf(deps, jobId), await jobOf(deps, query.with)];
        return { status: 200, json: deps.comparisons.compare(newer, older) };
      },
    }),
    operation({
      id: 'replaceResults',
      method: 'POST',
      path: '/jobs/{job_id}/replace',
      tag: 'results',
      summary: 'Replace the data of the older job by those of a re-extraction',
      description:
        'From then on, the older job shows the new data for every item that has some. Failed items that can now be parsed ' +
        'become successes of the older job. If there are many, this happens in the background: `recovering` of the older ' +
        'job is false once its counts are final.',
      access: 'full',
      params: jobPath,
      body: jsonBody(nothing, {}, { isOptional: true }),
      answers: { 200: jsonAnswer('The status of the older job.', jobStatusAnswerSchema) },
      problems: ['job_not_found', 'state_conflict'],
      async handle({ params: { job_id: jobId } }) {
        const answer = await replaceResults(deps, jobId);
        if (answer.kind === 'missing') return noJob(jobId);
        if (answer.kind === 'refused') throw new Problem('state_conflict', sentence(answer.because));
        const settled = await awaitRecovery(deps, answer.source);
        return { status: 200, json: presentStatus(settled, deps.clock.now()) };
      },
    }),
  ];
}
