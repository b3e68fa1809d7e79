import { z } from 'zod';
import { Problem } from '../../../contract/problem.ts';
import { exportQuery, jobPath, resultsQuery } from '../../../contract/requests.ts';
import { resultPartSchema, resultsSchema } from '../../../contract/result-answers.ts';
import type { BulkList } from '../../../domain/bulk-list.ts';
import { SITE_PAGE } from '../../jobs/bulk/submit-bulk.ts';
import { presentSummary } from '../../jobs/present-job.ts';
import { currentItems } from '../../results/current-items.ts';
import { explodeProblem } from '../../results/export/explode.ts';
import { exportJob } from '../../results/export/export-job.ts';
import { listResults, readPart } from '../../results/results.ts';
import { unfetchedLinks } from '../../results/unfetched-links.ts';
import { type ApiDeps, jobOf } from '../api-deps.ts';
import { type Operation, operation } from '../operation.ts';
import { leaving, Turnstile } from '../turnstile.ts';

/** Each export holds a few megabytes. */
const MAX_EXPORTS = 16;

export function resultOperations(deps: ApiDeps): Operation[] {
  const { ledger, store } = deps;
  const exports = new Turnstile(MAX_EXPORTS);
  return [
    operation({
      id: 'getResults',
      method: 'GET',
      path: '/jobs/{job_id}/results',
      tag: 'results',
      summary: 'Get the result index, in parts of a thousand items',
      description:
        'Without `part`, it lists the parts with links. While the job runs, part N contains those of the Nth thousand items ' +
        'that are final so far.',
      access: 'read',
      params: jobPath,
      query: resultsQuery,
      answers: {
        200: {
          description: 'The list of parts, or one part.',
          content: { 'application/json': z.union([resultsSchema, resultPartSchema]) },
        },
      },
      problems: ['job_not_found', 'part_not_found'],
      async handle({ params: { job_id: jobId }, query: { filter, part } }) {
        const job = await jobOf(deps, jobId);
        const from = { ledger: currentItems(ledger, job), store, digest: deps.digest, clock: deps.clock };
        if (part !== undefined) {
          const text = await readPart(from, job, filter, part);
          if (text === null) throw new Problem('part_not_found', `The results of job ${jobId} have no part ${part}.`);
          return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, text };
        }
        const { final, parts: listed } = await listResults(from, job, filter);
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
            ...(job.bulk === undefined ? {} : { links: presentLinks(jobId, job.bulk) }),
          },
        };
      },
    }),
    operation({
      id: 'getUnfetchedLinks',
      method: 'GET',
      path: '/jobs/{job_id}/links',
      tag: 'results',
      summary: 'List the URLs of a documentation pull that are not fetched',
      description:
        'One object per line, in the order of the list: `{"type": "asset", "url", "site", "path"}` for a link to a file, ' +
        '`{"type": "unknown", "url"}` for a URL that belongs to no site. Empty for jobs that were not created from a list of URLs.',
      access: 'read',
      params: jobPath,
      answers: {
        200: { description: 'The links.', content: { 'application/x-ndjson': 'One object per line.' } },
      },
      problems: ['job_not_found'],
      async handle({ params: { job_id: jobId } }) {
        const job = await jobOf(deps, jobId);
        return {
          status: 200,
          headers: { 'content-type': 'application/x-ndjson' },
          stream: unfetchedLinks(store, job),
        };
      },
    }),
    operation({
      id: 'exportJob',
      method: 'GET',
      path: '/jobs/{job_id}/export',
      tag: 'results',
      summary: 'Export one row per item: input, status, error, data fields, paths of files',
      description:
        'Streamed in constant memory. `html_path`, `page_paths`, `screenshot_path` and `document_path` are where the files of ' +
        'an item are: relative to the results folder, or keys in the bucket. In Parquet, lists and objects are LIST and STRUCT ' +
        'columns where the scraper’s output schema or the first results have types for them; otherwise they are JSON, as ' +
        'in CSV. In CSV, cells that a spreadsheet would interpret as a formula begin with an apostrophe. With `explode`, ' +
        'rows are the entries of a list in the data, and `index` is the 0-based place of the entry. `zip` is for documentation ' +
        'pulls: a tree of Markdown files that mirrors the paths of the sites, with a manifest.json.',
      access: 'read',
      params: jobPath,
      query: exportQuery,
      answers: {
        200: {
          description: 'The rows.',
          content: {
            'application/x-ndjson': 'One object per line.',
            'text/csv': 'A header row and the rows.',
            'application/vnd.apache.parquet': 'A Parquet file.',
            'application/zip': 'Markdown files and a manifest.json.',
          },
          headers: { 'Content-Disposition': 'Attachment with a file name.' },
        },
      },
      problems: ['job_not_found', 'too_many_exports'],
      async handle({ params: { job_id: jobId }, query: { format, filter, explode = null, bom }, signal }) {
        if (bom && format !== 'csv') refuse('bom', 'is only for CSV');
        const job = await jobOf(deps, jobId);
        if (format === 'zip' && job.scraperId !== SITE_PAGE) refuse('format', 'zip is only for documentation pulls');
        if (format === 'zip' && explode !== null) refuse('explode', 'is not for zip');
        const scraper = await deps.catalog.ofJob(job).catch(() => null);
        const isStillThere = async () => (await ledger.job(jobId))?.createdAt === job.createdAt;
        const from = {
          ledger: currentItems(ledger, job),
          store,
          pathOf: deps.pathOf,
          clock: deps.clock,
          digest: deps.digest,
          isStillThere,
        };
        const problem = explode === null ? null : await explodeProblem(from, jobId, explode, scraper);
        if (problem !== null) refuse('explode', problem);
        const leave = exports.enter();
        if (leave === null) throw new Problem('too_many_exports', 'Too many exports are running: try again later.');
        signal.addEventListener('abort', leave, { once: true });
        const { contentType, fileName, body } = exportJob(from, job, { format, filter, scraper, explode, hasBom: bom });
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

function presentLinks(jobId: string, { assets, unknown }: BulkList) {
  return { assets, unknown, href: `/jobs/${encodeURIComponent(jobId)}/links` };
}

function refuse(path: string, message: string): never {
  throw new Problem('invalid_request', 'Invalid query: see errors.', [{ path, message }]);
}
