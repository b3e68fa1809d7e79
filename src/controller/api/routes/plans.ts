import { formatOfMediaType } from '../../../contract/item-formats.ts';
import { newJobSchema } from '../../../contract/new-job.ts';
import { plannedSchema, planSchema } from '../../../contract/plan-answers.ts';
import { Problem, sentence } from '../../../contract/problem.ts';
import { planPath, planQuery } from '../../../contract/requests.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { beginPlan, endPlan, readPlan } from '../../jobs/plan-job.ts';
import { presentInputs, presentPlan } from '../../jobs/present-plan.ts';
import { type ReadPlanAnswer, readPlanBody, readPlanList } from '../../jobs/read-plan-request.ts';
import { type ApiDeps, laneWarnings, proxyWarningsOf } from '../api-deps.ts';
import { bodyBytes } from '../body-bytes.ts';
import { mediaTypeOf } from '../media-type.ts';
import { jsonAnswer, type Operation, operation } from '../operation.ts';
import { LIST_TYPES } from './items.ts';

const EXAMPLE = {
  scraper_id: 'demo-parcel',
  items: [{ input: { apn: '101-01-001' } }, { item_id: 'second', input: { apn: '101-01-002' } }],
  execution_policy: { throttling: { max_concurrent_workers: 5 } },
};

/** Plans: what a job would take, before it is created. */
export function planOperations(deps: ApiDeps): Operation[] {
  return [
    operation({
      id: 'planJob',
      method: 'POST',
      path: '/jobs/plan',
      tag: 'jobs',
      summary: 'Check the inputs of a job, and run a sample of them',
      description:
        'Takes the body of `POST /jobs`, or with `scraper_id` in the query a list of items in any format that ' +
        '`POST /jobs/{job_id}/items` takes. Nothing is created but a job that runs a sample of the items, spread over the ' +
        'list, under the same policy: poll `GET /plans/{plan_id}` until it is ready. The sample’s results are deleted ' +
        'with the plan, and the job runs those items again. Bad lines, duplicates and conflicting inputs are counted over ' +
        'the whole list, however long it is. In a body of more than 8 MiB the other fields must precede the items.',
      access: 'full',
      query: planQuery,
      headers: { 'Content-Encoding': '`gzip` if the body is compressed.' },
      body: {
        kind: 'stream',
        contentTypes: { ...LIST_TYPES, 'application/json': { schema: newJobSchema, example: EXAMPLE } },
      },
      answers: {
        202: jsonAnswer('The inputs, and the plan whose sample is running.', plannedSchema, {
          Location: 'The path of the plan.',
        }),
        200: jsonAnswer('Only the inputs: no item is run.', plannedSchema),
      },
      problems: ['unsupported_media_type', 'too_large'],
      async handle({ query, stream, header, signal }) {
        const limits = { sentBytes: null, unpackedBytes: deps.maxBodyBytes };
        const bytes = bodyBytes(stream, header, limits);
        const read = await readRequest(deps, query, bytes, mediaTypeOf(header('content-type')), signal);
        if (read.kind === 'malformed') {
          throw new Problem('malformed_request', `The inputs cannot be read: ${read.message}.`);
        }
        if (read.kind === 'bad') {
          throw new Problem('invalid_request', 'The job could not be created: see errors.', read.problems);
        }
        const inputs = presentInputs(read.request.check.report());
        const job = await beginPlan(deps, read.request, query.keep);
        if (job === null) return { status: 200, json: { plan: null, inputs, warnings: [] } };
        const state = await readPlan(deps, job.jobId);
        if (state === null) return noPlan(job.jobId);
        const location = `/plans/${encodeURIComponent(job.jobId)}`;
        return {
          status: 202,
          headers: { location },
          json: { plan: presentPlan(state), inputs, warnings: [...read.request.warnings, ...warningsAbout(deps, job)] },
        };
      },
    }),
    operation({
      id: 'getPlan',
      method: 'GET',
      path: '/plans/{plan_id}',
      tag: 'jobs',
      summary: 'Get a plan: how its sample went, and what the job will take',
      description: 'The forecast is made from what is final so far, and is complete when `status` is `ready`.',
      access: 'read',
      params: planPath,
      answers: { 200: jsonAnswer('The plan.', planSchema) },
      problems: ['plan_not_found'],
      async handle({ params: { plan_id: planId } }) {
        const state = await readPlan(deps, planId);
        return state === null ? noPlan(planId) : { status: 200, json: presentPlan(state) };
      },
    }),
    operation({
      id: 'deletePlan',
      method: 'DELETE',
      path: '/plans/{plan_id}',
      tag: 'jobs',
      summary: 'Delete a plan, its sample and their results',
      description:
        'Items of the sample that have begun finish first. A plan that is not deleted is deleted after a day, unless it was ' +
        'made with `keep`.',
      access: 'full',
      params: planPath,
      answers: { 204: { description: 'The plan is gone, or will be as soon as no worker is processing its items.' } },
      problems: ['plan_not_found', 'state_conflict'],
      async handle({ params: { plan_id: planId } }) {
        const answer = await endPlan(deps, planId);
        if (answer === 'missing') return noPlan(planId);
        if (answer !== 'ended') throw new Problem('state_conflict', sentence(answer.refused));
        return { status: 204, empty: true };
      },
    }),
  ];
}

type PlanQuery = ReturnType<typeof planQuery.parse>;

async function readRequest(
  deps: ApiDeps,
  query: PlanQuery,
  bytes: AsyncIterable<Uint8Array>,
  mediaType: string,
  signal: AbortSignal,
): Promise<ReadPlanAnswer> {
  const { scraper_id, execution_policy, columns = new Map(), strict, limit = Number.POSITIVE_INFINITY } = query;
  const how = { sample: query.sample ?? null, signal };
  const format = formatOfMediaType(mediaType);
  if (format === null || (scraper_id === undefined && format !== 'json')) {
    const types = 'application/x-ndjson, text/csv or application/json';
    throw new Problem('unsupported_media_type', `Send JSON, or with scraper_id in the query a list as ${types}.`);
  }
  if (scraper_id === undefined) {
    const stray = (['execution_policy', 'columns', 'limit'] as const).filter((name) => query[name] !== undefined);
    const errors = stray.map((path) => ({ path, message: 'is only for a list, with scraper_id' }));
    if (errors.length > 0) throw new Problem('invalid_request', 'Invalid query: see errors.', errors);
    return await readPlanBody(deps, bytes, how);
  }
  if (format !== 'csv' && (columns.size > 0 || strict)) {
    const path = columns.size > 0 ? 'columns' : 'strict';
    throw new Problem('invalid_request', 'Invalid query: see errors.', [{ path, message: 'is only for CSV' }]);
  }
  const fields = { scraper_id, ...(execution_policy === undefined ? {} : { execution_policy }) };
  return await readPlanList(deps, fields, bytes, { format, columns, isStrict: strict, limit }, how);
}

function warningsAbout(deps: ApiDeps, job: JobRecord) {
  return [...laneWarnings(deps, job), ...proxyWarningsOf(deps, job)];
}

function noPlan(planId: string): never {
  throw new Problem('plan_not_found', `There is no plan ${planId}. Plans are deleted after a day.`);
}
