import { z } from 'zod';
import { Problem } from '../../../contract/problem.ts';
import { nothing } from '../../../contract/requests.ts';
import {
  type CarriedRunAnswer,
  carriedRunsSchema,
  type FoundRunAnswer,
  finalizedRunSchema,
  foundRunSchema,
  nothingPendingSchema,
  startedRunSchema,
} from '../../../contract/run-answers.ts';
import {
  carriedRunPath,
  type RunOptionFields,
  retryRunSchema,
  startRunSchema,
} from '../../../contract/run-requests.ts';
import { isRecord } from '../../../domain/is-record.ts';
import { runPolicy } from '../../../domain/run-options.ts';
import {
  type CarriedRun,
  EtlTrouble,
  type FoundRun,
  type RunOptions,
  type RunService,
  type RunStarted,
} from '../../../ports/run-service.ts';
import { presentSummary } from '../../jobs/present-job.ts';
import { type ApiDeps, laneWarnings } from '../api-deps.ts';
import { type ApiReply, jsonAnswer, jsonBody, type Operation, operation } from '../operation.ts';

/** Some 100,000 URLs. */
const START_LIMIT_BYTES = 64 << 20;

const START_EXAMPLE = {
  domain: 'county.gov',
  urls: ['https://county.gov/parcels/1', 'https://county.gov/parcels/2'],
  sessions: 3,
};

const ETL_PROBLEMS = ['etl_not_configured', 'etl_trouble'] as const;

const STARTED = {
  201: jsonAnswer('The run is being carried out.', startedRunSchema, { Location: 'The path of the run.' }),
  200: jsonAnswer(
    'A run of this domain was already being carried out, or nothing was pending.',
    z.union([startedRunSchema, nothingPendingSchema]),
  ),
};

/** Scrape runs that this service carries out. Where they are kept is a matter of the ETL API. */
export function carriedRunOperations(deps: ApiDeps): Operation[] {
  return [
    startOperation(deps),
    listOperation(deps),
    showOperation(deps),
    retryOperation(deps),
    finalizeOperation(deps),
  ];
}

function startOperation(deps: ApiDeps): Operation {
  return operation({
    id: 'startRun',
    method: 'POST',
    path: '/runs',
    tag: 'runs',
    summary: 'Carry out the scrape run of a domain',
    description:
      'Takes the active run of the domain from the ETL API (`ETL_API_ENDPOINT`), or creates one with `urls`. Its pending items ' +
      'become a job: everything under `/jobs/{job_id}` applies. Each item that ends is reported to the run, and the run is ' +
      'finalized when nothing is pending. If a run of the domain is already being carried out, nothing is done.',
    access: 'full',
    body: jsonBody(startRunSchema, START_EXAMPLE, { limitBytes: START_LIMIT_BYTES }),
    answers: STARTED,
    problems: [...ETL_PROBLEMS, 'run_not_found', 'run_busy', 'too_large'],
    async handle({ body: { domain, urls, ...fields }, sent }) {
      const options = optionsFrom(deps, fields, sent);
      const started = await ask(deps, (runs) => runs.start({ domain, urls, ...options }));
      if (started.kind === 'no-run') {
        throw new Problem('run_not_found', `The domain ${domain} has no active run. Give urls to create one.`);
      }
      return presentStarted(deps, started);
    },
  });
}

function retryOperation(deps: ApiDeps): Operation {
  return operation({
    id: 'retryRun',
    method: 'POST',
    path: '/runs/{run_id}/retry',
    tag: 'runs',
    summary: 'Try items of a run again that ended without a result',
    description: 'They become a job of their own, and the run is finalized again with the new counts.',
    access: 'full',
    params: carriedRunPath,
    body: jsonBody(retryRunSchema, { failed: true, invalid: false }, { isOptional: true }),
    answers: STARTED,
    problems: [...ETL_PROBLEMS, 'run_not_found', 'run_busy'],
    async handle({ params: { run_id: runId }, body: { failed, invalid, ...fields }, sent }) {
      const options = optionsFrom(deps, fields, sent);
      const again = [...(failed ? (['failed'] as const) : []), ...(invalid ? (['invalid'] as const) : [])];
      const started = await ask(deps, (runs) => runs.retry(runId, again, options));
      return started.kind === 'no-run' ? noRun(runId) : presentStarted(deps, started);
    },
  });
}

function listOperation(deps: ApiDeps): Operation {
  return operation({
    id: 'listCarriedRuns',
    method: 'GET',
    path: '/runs',
    tag: 'runs',
    summary: 'List the runs that are being carried out',
    description: 'Runs that have ended are in the ETL API.',
    access: 'read',
    query: nothing,
    answers: { 200: jsonAnswer('The runs.', carriedRunsSchema) },
    problems: [...ETL_PROBLEMS],
    async handle() {
      const runs = await ask(deps, (service) => service.list());
      return { status: 200, json: { runs: runs.map(presentCarried) } };
    },
  });
}

function showOperation(deps: ApiDeps): Operation {
  return operation({
    id: 'getCarriedRun',
    method: 'GET',
    path: '/runs/{run_id}',
    tag: 'runs',
    summary: 'Show a run, and how it is being carried out',
    access: 'read',
    params: carriedRunPath,
    answers: { 200: jsonAnswer('The run.', foundRunSchema) },
    problems: [...ETL_PROBLEMS, 'run_not_found'],
    async handle({ params: { run_id: runId } }) {
      const found = await ask(deps, (runs) => runs.find(runId));
      return found === null ? noRun(runId) : { status: 200, json: presentFound(found) };
    },
  });
}

function finalizeOperation(deps: ApiDeps): Operation {
  return operation({
    id: 'finalizeRun',
    method: 'POST',
    path: '/runs/{run_id}/finalize',
    tag: 'runs',
    summary: 'End a run, whatever is pending in it',
    description: 'A run that is being carried out is finalized by itself. To end it early, cancel its job first.',
    access: 'full',
    params: carriedRunPath,
    body: jsonBody(nothing, {}, { isOptional: true }),
    answers: { 200: jsonAnswer('The run is finalized.', finalizedRunSchema) },
    problems: [...ETL_PROBLEMS, 'run_not_found', 'run_busy'],
    async handle({ params: { run_id: runId } }) {
      const items = await ask(deps, (runs) => runs.finalize(runId));
      if (items === null) return noRun(runId);
      if (items === 'busy') {
        throw new Problem('run_busy', `Run ${runId} is being carried out. To end it early, cancel its job first.`);
      }
      return { status: 200, json: { run_id: runId, items } };
    },
  });
}

/** What the ETL API does wrong is not a fault of this service. */
async function ask<T>(
  { runService }: Pick<ApiDeps, 'runService'>,
  question: (service: RunService) => Promise<T>,
): Promise<T> {
  if ('problem' in runService)
    throw new Problem('etl_not_configured', `The controller cannot carry out runs: ${runService.problem}.`);
  try {
    return await question(runService.service);
  } catch (error) {
    if (error instanceof EtlTrouble) throw new Problem('etl_trouble', error.message);
    throw error;
  }
}

function optionsFrom({ browserProvider }: ApiDeps, fields: RunOptionFields, sent: unknown): RunOptions {
  const { scraper_id, sessions, strategy, max_items_per_session: maxItemsPerSession, provider } = fields;
  if (provider !== undefined && provider !== browserProvider) {
    const message = `the workers of this service get their browsers from ${browserProvider} (TRAWL_BROWSER_PROVIDER)`;
    throw new Problem('invalid_request', 'Invalid request: see errors.', [{ path: 'provider', message }]);
  }
  const given = isRecord(sent) ? sent['execution_policy'] : undefined;
  const policy = runPolicy(fields.execution_policy, given, sessions, maxItemsPerSession);
  return { scraperId: scraper_id ?? null, sessions, strategy, maxItemsPerSession, policy };
}

function presentStarted(deps: ApiDeps, started: Exclude<RunStarted, { kind: 'no-run' }>): ApiReply {
  switch (started.kind) {
    case 'bad': {
      const { path, problem: message } = started;
      throw new Problem('invalid_request', 'The run cannot be carried out: see errors.', [{ path, message }]);
    }
    case 'starting':
      throw new Problem('run_busy', 'Another start of this domain is under way. Try again in a moment.');
    case 'nothing-pending': {
      const { runId: run_id, domain } = started;
      return { status: 200, json: { run_id, domain, nothing_pending: true } };
    }
    case 'started':
    case 'busy': {
      const isBusy = started.kind === 'busy';
      const warnings = started.job === null ? [] : laneWarnings(deps, started.job);
      const json = { ...presentCarried(started), already_started: isBusy, new_run: !isBusy && started.isNew, warnings };
      const headers = { location: `/runs/${encodeURIComponent(started.order.runId)}` };
      return { status: isBusy ? 200 : 201, headers, json };
    }
  }
}

function presentCarried({ order, jobId, job }: CarriedRun): CarriedRunAnswer {
  return {
    ...{ run_id: order.runId, domain: order.domain, round: order.round, job_id: jobId, scraper_id: order.scraperId },
    ...{ job_status: job?.status ?? null, summary: job && presentSummary(job.counts) },
    ...{ sessions: order.sessions, strategy: order.strategy, max_items_per_session: order.maxItemsPerSession },
    started_at: new Date(order.startedAt).toISOString(),
  };
}

function presentFound({ runId, startTime, endTime, carried, jobIds, ...run }: FoundRun): FoundRunAnswer {
  const { domain, status, items } = run;
  return {
    ...{ run_id: runId, domain, status, start_time: startTime, end_time: endTime, items },
    ...{ carried: carried && presentCarried(carried), job_ids: [...jobIds] },
  };
}

function noRun(runId: string): never {
  throw new Problem('run_not_found', `The ETL API has no run ${runId}.`);
}
