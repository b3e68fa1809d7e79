import type { z } from 'zod';
import { Problem } from '../../../contract/problem.ts';
import { runListSchema, runSchema, updatedRunItemsSchema } from '../../../contract/scrape-run-answers.ts';
import {
  changeRunSchema,
  createRunSchema,
  listRunsQuery,
  MAX_UPDATE_BYTES,
  type RunPatch,
  readRunPatch,
  runPath,
  runQuery,
} from '../../../contract/scrape-run-requests.ts';
import type { RunRecord } from '../../../domain/scrape-run.ts';
import { createRun } from '../../runs/create-run.ts';
import { presentPagination, presentRun, writeRun, writeRuns } from '../../runs/present-run.ts';
import type { ApiDeps } from '../api-deps.ts';
import { bodyBytes } from '../body-bytes.ts';
import { requireJson } from '../media-type.ts';
import { type ApiReply, jsonAnswer, jsonBody, type Operation, operation } from '../operation.ts';

const EXAMPLE = {
  domain: 'example.com',
  source: 'manual',
  metadata: { started_at: '2026-11-18T08:00:00.000Z' },
  items: [{ url: 'https://example.com/a' }, { url: 'https://example.com/b' }],
};

const UPDATE_EXAMPLE = {
  updateItems: [
    { url: 'https://example.com/a', changes: { done: true } },
    { url: 'https://example.com/b', changes: { failed: true, failedReason: 'status 500' } },
  ],
};

export const FEWER_RUN_ITEMS = 'send fewer items, and the others to POST /api/scrape-runs/{run_id}/items';

/** Scrape runs, as clients of ETL servers know them. */
export function runOperations(deps: ApiDeps): Operation[] {
  const { runs, clock } = deps;
  return [
    operation({
      id: 'createScrapeRun',
      method: 'POST',
      path: '/api/scrape-runs',
      tag: 'runs',
      summary: 'Create a scrape run',
      description:
        'The run is created completely or not at all, and a URL that occurs twice is one item. The body is streamed, so any ' +
        'number of items takes constant memory, and may be compressed (`Content-Encoding: gzip`).',
      access: 'full',
      query: runQuery,
      headers: { 'Content-Encoding': '`gzip` if the body is compressed.' },
      body: { kind: 'stream', contentTypes: { 'application/json': { schema: createRunSchema, example: EXAMPLE } } },
      answers: { 201: jsonAnswer('The run.', runSchema, { Location: 'The path of the run.' }) },
      problems: ['too_large'],
      async handle({ query, stream, header, signal }) {
        requireJson(header);
        const limits = { sentBytes: deps.maxBodyBytes, unpackedBytes: deps.maxBodyBytes, advice: FEWER_RUN_ITEMS };
        const answer = await createRun({ runs, clock }, bodyBytes(stream, header, limits), signal);
        switch (answer.kind) {
          case 'malformed':
            throw new Problem('malformed_request', `The body is not a valid scrape run: ${answer.message}.`);
          case 'bad':
            throw new Problem('invalid_request', 'The scrape run cannot be created: see errors.', answer.problems);
          case 'created': {
            const { id, domain, counts } = answer.run;
            deps.log.info({ run_id: id, domain, items: counts.total }, 'scrape run created');
            const location = `/api/scrape-runs/${encodeURIComponent(id)}`;
            return runReply(deps, answer.run, query, { status: 201, headers: { location } });
          }
        }
      },
    }),
    operation({
      id: 'listScrapeRuns',
      method: 'GET',
      path: '/api/scrape-runs',
      tag: 'runs',
      summary: 'List scrape runs',
      description:
        'Runs come with all their items unless `items=false`: clients of other servers rely on them. The answer is streamed.',
      access: 'read',
      query: listRunsQuery,
      answers: { 200: jsonAnswer('A page of runs.', runListSchema) },
      async handle({ query: { page, limit, items: withItems, ...wanted } }) {
        const found = await runs.list({ ...wanted, offset: (page - 1) * limit, limit });
        const shown = { ...found, page, limit };
        if (withItems) return { status: 200, headers: JSON_TYPE, stream: writeRuns(runs, shown) };
        return {
          status: 200,
          json: { data: found.runs.map(presentRun), pagination: presentPagination(shown) },
        };
      },
    }),
    operation({
      id: 'getScrapeRun',
      method: 'GET',
      path: '/api/scrape-runs/{run_id}',
      tag: 'runs',
      summary: 'Get a scrape run with its items',
      description: 'The answer is streamed. `GET /api/scrape-runs/{run_id}/items` has the items page by page.',
      access: 'read',
      params: runPath,
      query: runQuery,
      answers: { 200: jsonAnswer('The run.', runSchema) },
      problems: ['run_not_found'],
      async handle({ params: { run_id: id }, query }) {
        return runReply(deps, await runOf(deps, id), query, { status: 200 });
      },
    }),
    operation({
      id: 'changeScrapeRun',
      method: 'PATCH',
      path: '/api/scrape-runs/{run_id}',
      tag: 'runs',
      summary: 'Report items of a scrape run, or end it',
      description:
        'Either `updateItem`, or `updateItems` with up to 1,000 changes that are applied in order, or the end of the run: ' +
        '`{"status": "finished", "endTime": …}` or `{"finalize": true}`. Only the fields that are given change, and repeating a ' +
        'request has no further effect. Changes of items are accepted after the end of a run, too, which keeps its status and ' +
        'end: a client reports again what it is not sure about. Ending a run again only adds to its metadata. ' +
        '`{"status": "processing"}` reopens a run.',
      access: 'full',
      params: runPath,
      body: jsonBody(changeRunSchema, UPDATE_EXAMPLE, { limitBytes: MAX_UPDATE_BYTES }),
      answers: {
        200: jsonAnswer(
          'What became of the changes of items; or, after a change of the run itself, the run without its items.',
          updatedRunItemsSchema.or(runSchema),
        ),
      },
      problems: ['run_not_found', 'run_item_not_found'],
      async handle({ params: { run_id: id }, body }) {
        const patch = readRunPatch(body, clock.now());
        if (patch.kind === 'items') return { status: 200, json: await updateItems(deps, id, patch) };
        const run = await runs.change(id, patch.change, clock.now());
        if (run === null) return noRun(id);
        deps.runFeeds.runChanged(id);
        deps.log.info({ run_id: id, status: run.status }, 'scrape run changed');
        return { status: 200, json: presentRun(run) };
      },
    }),
    operation({
      id: 'deleteScrapeRun',
      method: 'DELETE',
      path: '/api/scrape-runs/{run_id}',
      tag: 'runs',
      summary: 'Delete a scrape run',
      access: 'full',
      params: runPath,
      answers: { 204: { description: 'The run is gone.' } },
      problems: ['run_not_found'],
      async handle({ params: { run_id: id } }) {
        if (!(await runs.remove(id))) return noRun(id);
        deps.runFeeds.runChanged(id);
        deps.log.info({ run_id: id }, 'scrape run deleted');
        return { status: 204, empty: true };
      },
    }),
  ];
}

async function updateItems(
  { runs, clock, runFeeds }: ApiDeps,
  id: string,
  patch: Extract<RunPatch, { kind: 'items' }>,
) {
  const { updates, isBatch } = patch;
  const answer = await runs.update(id, updates, clock.now());
  if (answer.kind === 'missing') return noRun(id);
  const { changed, unknown } = answer;
  if (changed.length > 0) runFeeds.itemsChanged(id, changed);
  if (!isBatch && unknown.length > 0) {
    throw new Problem('run_item_not_found', `The scrape run ${id} has no item with this URL.`, [
      { path: 'updateItem.url', message: 'is not in the run' },
    ]);
  }
  return { updated: updates.length - unknown.length, unknown };
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

function runReply(
  { runs }: Pick<ApiDeps, 'runs'>,
  run: RunRecord,
  { items: withItems }: z.output<typeof runQuery>,
  { status, headers = {} }: { readonly status: number; readonly headers?: Readonly<Record<string, string>> },
): ApiReply {
  if (!withItems) return { status, headers, json: presentRun(run) };
  return { status, headers: { ...headers, ...JSON_TYPE }, stream: writeRun(runs, run) };
}

/** The run; throws a problem if there is none. */
export async function runOf({ runs }: Pick<ApiDeps, 'runs'>, id: string): Promise<RunRecord> {
  return (await runs.run(id)) ?? noRun(id);
}

export function noRun(id: string): never {
  throw new Problem('run_not_found', `There is no scrape run ${id}.`);
}
