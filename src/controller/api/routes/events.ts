import { Problem } from '../../../contract/problem.ts';
import { jobPath, noQuery } from '../../../contract/requests.ts';
import { NO_BODY, type Operation, operation } from '../operation.ts';
import { type ApiParts, noJob } from '../parts.ts';

export function eventOperations(parts: ApiParts): Operation[] {
  return [
    operation({
      id: 'watchJob',
      method: 'GET',
      path: '/jobs/{job_id}/events',
      tag: 'jobs',
      summary: 'Server-sent events: progress, outcomes of items, changes of status',
      description:
        'Events are `status`, `progress`, `items`, `reset` (events were missed: list again), `end` and `gone`. A client ' +
        'that comes back with `Last-Event-ID` goes on where it was.',
      access: 'read',
      params: jobPath,
      query: noQuery,
      headers: { 'Last-Event-ID': 'The id of the last event that was seen.' },
      body: NO_BODY,
      answers: {
        200: { description: 'The stream.', content: { 'text/event-stream': 'Events, until the job is over.' } },
        204: { description: 'This client has seen the end of the job: nothing more will come.' },
      },
      problems: ['job_not_found', 'too_many_watchers'],
      async handle({ params: { job_id: jobId }, header, signal }) {
        const frames = await parts.feeds.watch(jobId, header('last-event-id'), signal);
        if (frames === 'missing') return noJob(jobId);
        if (frames === 'full') throw new Problem('too_many_watchers', 'Too many are watching: try again later.');
        if (frames === 'over') return { status: 204, empty: true };
        return {
          status: 200,
          headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
          stream: frames,
        };
      },
    }),
  ];
}
