import { z } from 'zod';
import { resultPartSchema, resultsSchema } from '../../../contract/answers.ts';
import { Problem } from '../../../contract/problem.ts';
import { exportQuery, jobPath, resultsQuery } from '../../../contract/requests.ts';
import { presentSummary } from '../../jobs/present-job.ts';
import { currentItems } from '../../results/current-items.ts';
import { exportJob } from '../../results/export/export-job.ts';
import { partOf, resultsOf } from '../../results/results.ts';
import { NO_BODY, type Operation, operation } from '../operation.ts';
import { type ApiParts, jobOf } from '../parts.ts';
import { leaving, Turnstile } from '../turnstile.ts';

/** At a time: each holds some megabytes. */
const MAX_EXPORTS = 16;

export function resultOperations(parts: ApiParts): Operation[] {
  const { ledger, store } = parts;
  const exports = new Turnstile(MAX_EXPORTS);
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
        const from = { ledger: currentItems(ledger, job), store, digest: parts.digest, clock: parts.clock };
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
          headers: { 'Content-Disposition': 'A file to keep, and its name.' },
        },
      },
      problems: ['job_not_found', 'too_many_exports'],
      async handle({ params: { job_id: jobId }, query: { format, filter }, signal }) {
        const job = await jobOf(parts, jobId);
        const scraper = await parts.catalog.find(job.scraperId).catch(() => null);
        const isStillThere = async () => (await ledger.job(jobId))?.createdAt === job.createdAt;
        const from = { ledger: currentItems(ledger, job), store, clock: parts.clock, isStillThere };
        const leave = exports.enter();
        if (leave === null) throw new Problem('too_many_exports', 'Too many exports are under way: try again later.');
        signal.addEventListener('abort', leave, { once: true });
        const { contentType, fileName, body } = exportJob(from, job, { format, filter, scraper });
        return {
          status: 200,
          headers: {
            'content-type': contentType,
            'content-disposition': `attachment; filename="${fileName}"`,
          },
          stream: leaving(body, leave),
        };
      },
    }),
  ];
}
