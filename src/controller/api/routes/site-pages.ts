import { newJobHeaders } from '../../../contract/new-job.ts';
import { Problem } from '../../../contract/problem.ts';
import {
  indexedSchema,
  linksPendingSchema,
  siteContentSchema,
  siteLinksSchema,
} from '../../../contract/site-page-answers.ts';
import { indexBody, siteContentQuery, siteLinksQuery, sitePath } from '../../../contract/site-requests.ts';
import { isRecord } from '../../../domain/is-record.ts';
import type { ErrandEnd } from '../../jobs/sites/errand.ts';
import { indexSite } from '../../jobs/sites/index-site.ts';
import { readPageNow } from '../../jobs/sites/page-now.ts';
import { listSiteLinks } from '../../jobs/sites/site-links.ts';
import { cachedPages } from '../../results/export/cached-pages.ts';
import { pageTree } from '../../results/export/page-tree.ts';
import { zipBytes } from '../../results/export/zip-bytes.ts';
import { type ApiDeps, laneWarnings, refuseExisting, siteOf } from '../api-deps.ts';
import { checkPause } from '../check-pause.ts';
import { checked, jsonAnswer, jsonBody, type Operation, operation } from '../operation.ts';
import { leaving, Turnstile } from '../turnstile.ts';

/** Each is a job, and keeps a worker and a connection busy. */
const MAX_ERRANDS = 32;

const MAX_DOWNLOADS = 16;

/** Pages of a documentation site: one of them now, the links to all of them, and a job that pulls all of them. */
export function sitePageOperations(deps: ApiDeps): Operation[] {
  const errands = new Turnstile(MAX_ERRANDS);
  const downloads = new Turnstile(MAX_DOWNLOADS);

  async function waiting<T>(work: () => Promise<T>): Promise<T> {
    const leave = errands.enter();
    if (leave === null) {
      throw new Problem('too_many_errands', 'Too many requests wait for pages: try again later, or create a job.');
    }
    try {
      return await work();
    } finally {
      leave();
    }
  }

  return [
    operation({
      id: 'getSiteContent',
      method: 'GET',
      path: '/sites/{site_id}/content',
      tag: 'sites',
      summary: 'Get one page of a site as Markdown, now',
      description:
        'From the cache if it was read within `max_age` seconds. Otherwise a worker reads it, under the limits of its host ' +
        'and the site’s robots.txt, in a browser if the configuration says so, and the request waits for up to two minutes. ' +
        'For many pages, create a job.',
      access: 'full',
      params: sitePath,
      query: siteContentQuery,
      answers: { 200: jsonAnswer('The page.', siteContentSchema) },
      problems: ['site_not_found', 'page_not_found', 'page_not_read', ...WAITING],
      async handle({ params: { site_id: id }, query: { path, max_age: maxAge }, signal }) {
        const site = await siteOf(deps, id);
        const wish = { path: path ?? site.config.defaultPath, maxAge };
        const answer = await waiting(() =>
          readPageNow({ ...deps, checkPause: (url) => checkPause(deps, url) }, site, wish, signal),
        );
        switch (answer.kind) {
          case 'page':
            return { status: 200, json: answer.page };
          case 'bad-path': {
            const { message } = answer;
            throw new Problem('invalid_request', `The path ${message}.`, [{ path: 'path', message }]);
          }
          case 'missing':
            throw new Problem('page_not_found', answer.message);
          case 'unreadable':
            throw new Problem('page_not_read', answer.message);
          case 'late':
            throw new Problem('page_too_slow', 'The page was not read in time. Create a job to wait for it.');
          default:
            return refuseErrand(answer);
        }
      },
    }),
    operation({
      id: 'getSiteLinks',
      method: 'GET',
      path: '/sites/{site_id}/links',
      tag: 'sites',
      summary: 'List the pages of a site that its configuration leads to',
      description:
        'What the sitemaps and the llms.txt of the site name, and what is linked from its start pages up to `maxDepth` links ' +
        'away; only pages below its baseUrl whose address contains the pattern. From the cache if it was collected within ' +
        '`max_age` seconds. Otherwise a worker collects it: after a minute the answer is 202, and a later request gets the ' +
        'links. At most 500 pages are read for it, and 50,000 links listed.',
      access: 'full',
      params: sitePath,
      query: siteLinksQuery,
      answers: {
        200: jsonAnswer('The links.', siteLinksSchema),
        202: jsonAnswer('They are still being collected: ask again.', linksPendingSchema, {
          'Retry-After': 'Seconds to wait before the next request.',
        }),
      },
      problems: ['site_not_found', 'page_not_read', ...WAITING],
      async handle({ params: { site_id: id }, query: { max_age: maxAge, delay_ms: delayMs }, signal }) {
        const site = await siteOf(deps, id);
        const answer = await waiting(() =>
          listSiteLinks({ ...deps, checkPause: (url) => checkPause(deps, url) }, site, { maxAge, delayMs }, signal),
        );
        switch (answer.kind) {
          case 'links': {
            const { links, isComplete: complete, fetchedAt } = answer.found;
            const fetched_at = new Date(fetchedAt).toISOString();
            return { status: 200, json: { site_id: id, count: links.length, complete, fetched_at, links } };
          }
          case 'unreadable':
            throw new Problem('page_not_read', answer.message);
          case 'late':
            return {
              status: 202,
              headers: { 'retry-after': '10' },
              json: { site_id: id, status: 'in_progress', job_id: answer.jobId },
            };
          default:
            return refuseErrand(answer);
        }
      },
    }),
    operation({
      id: 'downloadSite',
      method: 'GET',
      path: '/sites/{site_id}/download',
      tag: 'sites',
      summary: 'Download all cached pages of a site',
      description:
        'A zip with a tree of Markdown files that mirrors the paths of the site, and a manifest.json with an entry for each ' +
        'page and each link to a file. It is streamed; no page is requested.',
      access: 'read',
      params: sitePath,
      answers: {
        200: {
          description: 'The archive.',
          content: { 'application/zip': 'Markdown files and a manifest.json.' },
          headers: { 'Content-Disposition': 'Attachment with a file name.' },
        },
      },
      problems: ['site_not_found', 'too_many_exports'],
      async handle({ params: { site_id: id }, signal }) {
        const site = await siteOf(deps, id);
        const leave = downloads.enter();
        if (leave === null) throw new Problem('too_many_exports', 'Too many downloads are running: try again later.');
        signal.addEventListener('abort', leave, { once: true });
        return {
          status: 200,
          headers: {
            'content-type': 'application/zip',
            'content-disposition': `attachment; filename="${id}.zip"`,
          },
          stream: leaving(zipBytes(pageTree({ site_id: id }, cachedPages(deps, site), deps.digest)), leave),
        };
      },
    }),
    operation({
      id: 'indexSite',
      method: 'POST',
      path: '/sites/{site_id}/index',
      tag: 'sites',
      summary: 'Pull a whole site as Markdown',
      description:
        'Creates a job that begins with the start pages, the sitemaps and the llms.txt of the site, and adds the pages that ' +
        'these lead to, each once: those below its baseUrl whose address contains the pattern, linked pages up to `maxDepth` ' +
        'links away. `discovery` in the execution policy limits how many. The job is an ordinary one: `GET /jobs/{job_id}` ' +
        'shows what was found, and everything else under that path applies.',
      access: 'full',
      params: sitePath,
      headers: { 'Idempotency-Key': 'Requests with the same key and body create only one job. 1 to 255 characters.' },
      body: jsonBody(
        indexBody,
        { delay_ms: 500, execution_policy: { discovery: { max_items: 5000 } } },
        { isOptional: true },
      ),
      answers: {
        201: jsonAnswer('The job was created.', indexedSchema, { Location: 'The path of the job.' }),
        200: jsonAnswer('An earlier request with the same Idempotency-Key created the job.', indexedSchema),
      },
      problems: ['site_not_found', 'job_exists', 'job_being_removed', 'idempotency_key_reused'],
      async handle({ params: { site_id: id }, body: fields, sent, header }) {
        const key = header('idempotency-key');
        checked(newJobHeaders, key === null ? {} : { 'Idempotency-Key': key }, 'headers');
        const site = await siteOf(deps, id);
        const answer = await indexSite(deps, site, { fields, given: isRecord(sent) ? sent : {}, idempotencyKey: key });
        if (answer.kind === 'bad') {
          throw new Problem('invalid_request', 'The job cannot be created: see errors.', answer.problems);
        }
        const { job } = answer;
        if (answer.kind !== 'created' && answer.kind !== 'replayed') return refuseExisting(answer.kind, job);
        const warnings = laneWarnings(deps, job);
        return {
          status: answer.kind === 'created' ? 201 : 200,
          headers: { location: `/jobs/${encodeURIComponent(job.jobId)}` },
          json: {
            ...{ job_id: job.jobId, status: 'in_progress', site_id: id, seeded_count: job.counts.total },
            ...(warnings.length === 0 ? {} : { warnings }),
          },
        };
      },
    }),
  ];
}

const WAITING = ['no_workers', 'too_many_errands', 'page_too_slow'] as const;

function refuseErrand(answer: Extract<ErrandEnd<never>, { kind: 'no-workers' | 'unusable' }>): never {
  throw new Problem('no_workers', `${answer.message.charAt(0).toUpperCase()}${answer.message.slice(1)}.`);
}
