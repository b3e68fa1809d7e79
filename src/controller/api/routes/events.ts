import { jobEventSchema } from '../../../contract/events.ts';
import { Problem } from '../../../contract/problem.ts';
import { jobPath } from '../../../contract/requests.ts';
import type { WatchAnswer } from '../../feed/feeds.ts';
import { type ApiDeps, noJob } from '../api-deps.ts';
import { type ApiReply, type Operation, operation } from '../operation.ts';

export function eventOperations(deps: ApiDeps): Operation[] {
  return [
    operation({
      id: 'watchJob',
      method: 'GET',
      path: '/jobs/{job_id}/events',
      tag: 'jobs',
      summary: 'Watch a job by server-sent events: progress, item outcomes, status changes',
      description:
        'Events are `status`, `progress`, `items`, `reset` (events were missed: list again), `end` and `gone`. The schema ' +
        '`JobEvent` has the data of each. A client that reconnects with `Last-Event-ID` resumes where it left off.',
      access: 'read',
      params: jobPath,
      headers: { 'Last-Event-ID': 'Id of the last event received.' },
      answers: {
        200: {
          description: 'The event stream.',
          content: { 'text/event-stream': { description: 'Events until the job is over.', events: jobEventSchema } },
        },
        204: { description: 'The client has already seen the end of the job: there will be no more events.' },
      },
      problems: ['job_not_found', 'too_many_watchers'],
      async handle({ params: { job_id: jobId }, header, signal }) {
        const frames = await deps.feeds.watch(jobId, header('last-event-id'), signal);
        return frames === 'missing' ? noJob(jobId) : streamReply(frames);
      },
    }),
  ];
}

/** The answer to a request to watch something that exists. */
export function streamReply(frames: Exclude<WatchAnswer, 'missing'>): ApiReply {
  if (frames === 'full') throw new Problem('too_many_watchers', 'Too many event streams are open: try again later.');
  if (frames === 'over') return { status: 204, empty: true };
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
    stream: frames,
  };
}
