import { z } from 'zod';
import { exportJob } from '../../export/export-job.ts';
import { currentItems } from '../../extraction/current-items.ts';
import { partOf, resultsOf } from '../../results.ts';
import { resultPartSchema, resultsSchema } from '../answers.ts';
import { NO_BODY, type Operation, operation } from '../operation.ts';
import { type ApiParts, jobOf, noJob } from '../parts.ts';
import { presentSummary } from '../present-job.ts';
import { Problem } from '../problem.ts';
import { exportQuery, jobPath, noQuery, resultsQuery } from '../requests.ts';

export function resultOperations(parts: ApiParts): Operation[] {
  const { ledger, store } = parts;
  return [
    operation({
      id: 'getResults',
      method: 'GET',
      path: '/jobs/{job_id}/results',
      tag: 'results',
      summary: 'The index of the results, in parts of a thousand items',
      description:
        'Without `part`: what there is, with links. Also while the job runs: then part N holds those of the Nth thousand ' +
        'items that are final so far.',
      access: 'read',
      params: jobPath,
      query: resultsQuery,
      body: NO_BODY,
      answers: {
        200: {
          description: 'The parts, or one of them.',
          content: { 'application/json': z.union([resultsSchema, resultPartSchema]) },
        },
      },
      problems: ['job_not_found', 'part_not_found'],
      async handle({ params: { job_id: jobId }, query: { filter, part } }) {
        const job = await jobOf(parts, jobId);
        const from = { ledger: currentItems(ledger, job), store, digest: parts.digest };
        if (part !== undefined) {
          const text = await partOf(from, job, filter, part);
          if (text === null) throw new Problem('part_not_found', `The results of ${jobId} have no part ${part}.`);
          return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, text };
        }
        const { final, parts: listed } = await resultsOf(from, job, filter);
        const path = `/jobs/${encodeURIComponent(jobId)}/results?filter=${filter}&part=`;
        return {
          status: 200,
          json: {
            job_id: jobId,
            status: job.status,
            filter,
            final,
            summary: presentSummary(job.counts),
            parts: listed.map((each) => ({ ...each, href: `${path}${each.part}` })),
          },
        };
      },
    }),
    operation({
      id: 'exportJob',
      method: 'GET',
      path: '/jobs/{job_id}/export',
      tag: 'results',
      summary: 'One row per item: input, status, error, data fields',
      description:
        'Streamed at constant memory. In CSV, cells that a spreadsheet would run as a formula begin with an apostrophe.',
      access: 'read',
      params: jobPath,
      query: exportQuery,
      body: NO_BODY,
      answers: {
        200: {
          description: 'The rows.',
          content: {
            'application/x-ndjson': 'An object per line.',
            'text/csv': 'A header and a row per item.',
            'application/vnd.apache.parquet': 'A Parquet file.',
          },
        },
      },
      problems: ['job_not_found'],
      async handle({ params: { job_id: jobId }, query: { format, filter } }) {
        const job = await jobOf(parts, jobId);
        const scraper = await parts.catalog.find(job.scraperId).catch(() => null);
        const from = { ledger: currentItems(ledger, job), store, clock: parts.clock };
        const { contentType, fileName, body } = exportJob(from, job, { format, filter, scraper });
        return {
          status: 200,
          headers: {
            'content-type': contentType,
            'content-disposition': `attachment; filename="${fileName}"`,
          },
          stream: body,
        };
      },
    }),
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
