import { Problem } from '../../../contract/problem.ts';
import { addedRunItemsSchema, runItemPageSchema } from '../../../contract/scrape-run-answers.ts';
import { addRunItemsSchema, runItemsQuery, runPath } from '../../../contract/scrape-run-requests.ts';
import { addRunItems } from '../../runs/add-run-items.ts';
import { presentCounts, presentRunItem } from '../../runs/present-run.ts';
import type { ApiDeps } from '../api-deps.ts';
import { bodyBytes } from '../body-bytes.ts';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import { requireJson } from '../media-type.ts';
import { jsonAnswer, type Operation, operation } from '../operation.ts';
import { FEWER_RUN_ITEMS, noRun, runOf } from './runs.ts';

/** The items of scrape runs. */
export function runItemOperations(deps: ApiDeps): Operation[] {
  const { runs } = deps;
  return [
    operation({
      id: 'listScrapeRunItems',
      method: 'GET',
      path: '/api/scrape-runs/{run_id}/items',
      tag: 'runs',
      summary: 'List the items of a scrape run page by page',
      description:
        'In the order in which they were added. Items that change their state while a list with `status` is read may be missed.',
      access: 'read',
      params: runPath,
      query: runItemsQuery,
      answers: { 200: jsonAnswer('A page of items.', runItemPageSchema) },
      problems: ['run_not_found'],
      async handle({ params: { run_id: id }, query: { status: state = null, limit, cursor } }) {
        const { counts } = await runOf(deps, id);
        const list = `run-items ${id} ${state}`;
        const page = await runs.items(id, { state, limit, after: decodeCursor(list, cursor) });
        return {
          status: 200,
          json: {
            items: page.items.map(presentRunItem),
            counts: presentCounts(counts),
            next_cursor: encodeCursor(list, page.next),
          },
        };
      },
    }),
    operation({
      id: 'addScrapeRunItems',
      method: 'POST',
      path: '/api/scrape-runs/{run_id}/items',
      tag: 'runs',
      summary: 'Add items to a scrape run',
      description:
        'URLs that the run already has are left as they are, so a request can simply be repeated. The body is streamed, so any ' +
        'number of items takes constant memory, and may be compressed (`Content-Encoding: gzip`). If an item is invalid, ' +
        'those before it may have been added. A run that has ended accepts no items: reopen it first.',
      access: 'full',
      params: runPath,
      headers: { 'Content-Encoding': '`gzip` if the body is compressed.' },
      body: {
        kind: 'stream',
        contentTypes: {
          'application/json': { schema: addRunItemsSchema, example: { items: [{ url: 'https://example.com/c' }] } },
        },
      },
      answers: { 200: jsonAnswer('What became of the items.', addedRunItemsSchema) },
      problems: ['run_not_found', 'run_ended', 'too_large'],
      async handle({ params: { run_id: id }, stream, header, signal }) {
        requireJson(header);
        const limits = { sentBytes: deps.maxBodyBytes, unpackedBytes: deps.maxBodyBytes, advice: FEWER_RUN_ITEMS };
        const answer = await addRunItems(deps, id, bodyBytes(stream, header, limits), signal);
        switch (answer.kind) {
          case 'missing':
            return noRun(id);
          case 'ended':
            throw new Problem('run_ended', `The scrape run ${id} has ended and accepts no more items.`);
          case 'malformed':
            throw new Problem('malformed_request', `The body is not a valid list of items: ${answer.message}.`);
          case 'bad':
            throw new Problem('invalid_request', 'Some items cannot be added: see errors.', answer.problems);
          case 'added': {
            const { added, known } = answer;
            if (added > 0) deps.runFeeds.itemsChanged(id, []);
            const { counts } = await runOf(deps, id);
            return { status: 200, json: { added, known, counts: presentCounts(counts) } };
          }
        }
      },
    }),
  ];
}
