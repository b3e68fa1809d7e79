import { runEventSchema } from '../../../contract/scrape-run-events.ts';
import { runPath } from '../../../contract/scrape-run-requests.ts';
import type { ApiDeps } from '../api-deps.ts';
import { type Operation, operation } from '../operation.ts';
import { streamReply } from './events.ts';
import { noRun } from './runs.ts';

export function runEventsOperation(deps: ApiDeps): Operation {
  return operation({
    id: 'watchScrapeRun',
    method: 'GET',
    path: '/api/scrape-runs/{run_id}/events',
    tag: 'runs',
    summary: 'Watch a scrape run by server-sent events: its status, its counts, items that change',
    description:
      'Events are `status`, `stats`, `items`, `reset` (events were missed: list again), `end` and `gone`. The schema ' +
      '`ScrapeRunEvent` has the data of each. A client that reconnects with `Last-Event-ID` resumes where it left off.',
    access: 'read',
    params: runPath,
    headers: { 'Last-Event-ID': 'Id of the last event received.' },
    answers: {
      200: {
        description: 'The event stream.',
        content: { 'text/event-stream': { description: 'Events until the run has ended.', events: runEventSchema } },
      },
      204: { description: 'The client has already seen the end of the run: there will be no more events.' },
    },
    problems: ['run_not_found', 'too_many_watchers'],
    async handle({ params: { run_id: id }, header, signal }) {
      const frames = await deps.runFeeds.watch(id, header('last-event-id'), signal);
      return frames === 'missing' ? noRun(id) : streamReply(frames);
    },
  });
}
