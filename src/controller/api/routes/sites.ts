import { Problem } from '../../../contract/problem.ts';
import { removedSiteSchema, type SiteAnswer, siteAnswerSchema, sitesSchema } from '../../../contract/site-answers.ts';
import { setSiteQuery, sitePath } from '../../../contract/site-requests.ts';
import { siteSchema } from '../../../domain/site.ts';
import { MAX_SITES, type StoredSite } from '../../../domain/stored-site.ts';
import { removeSite } from '../../sites/import-sites.ts';
import { type ApiDeps, siteOf } from '../api-deps.ts';
import { jsonAnswer, jsonBody, type Operation, operation } from '../operation.ts';

const EXAMPLE = { baseUrl: 'https://docs.example.com/guide', mode: 'auto', content: { selector: 'main' } };

/** Configurations of documentation sites. */
export function siteOperations(deps: ApiDeps): Operation[] {
  const { sites, fileSites, clock } = deps;
  return [
    operation({
      id: 'listSites',
      method: 'GET',
      path: '/sites',
      tag: 'sites',
      summary: 'List documentation sites',
      access: 'read',
      answers: { 200: jsonAnswer('All sites, by id.', sitesSchema) },
      async handle() {
        return { status: 200, json: { sites: (await sites.list()).map(presentSite) } };
      },
    }),
    operation({
      id: 'getSite',
      method: 'GET',
      path: '/sites/{site_id}',
      tag: 'sites',
      summary: 'Get the configuration of a site',
      access: 'read',
      params: sitePath,
      answers: { 200: jsonAnswer('The site.', siteAnswerSchema) },
      problems: ['site_not_found'],
      async handle({ params: { site_id: id } }) {
        return { status: 200, json: presentSite(await siteOf(deps, id)) };
      },
    }),
    operation({
      id: 'setSite',
      method: 'PUT',
      path: '/sites/{site_id}',
      tag: 'sites',
      summary: 'Add a site, or replace its configuration',
      description:
        'The body is what `sites.json` has for the site. Fields that are left out have their defaults. A site that is set ' +
        'here takes precedence over the file. Jobs that run use the new configuration within a few seconds.',
      access: 'full',
      params: sitePath,
      query: setSiteQuery,
      body: jsonBody(siteSchema, EXAMPLE),
      answers: { 200: jsonAnswer('The site with its new configuration.', siteAnswerSchema) },
      problems: ['site_changed'],
      async handle({ params: { site_id: id }, query: { version: ifVersion }, body: config }) {
        checkAgainst(await sites.list(), id, config.baseUrl);
        const site: StoredSite = { id, config, source: 'api', changedAt: clock.now(), version: clock.id() };
        if ((await sites.set(site, ifVersion)) === 'set') return { status: 200, json: presentSite(site) };
        throw new Problem(
          'site_changed',
          `The configuration of ${id} no longer has the version ${ifVersion}. Read it again and repeat the change.`,
        );
      },
    }),
    operation({
      id: 'removeSite',
      method: 'DELETE',
      path: '/sites/{site_id}',
      tag: 'sites',
      summary: 'Remove a site',
      description:
        'If the site is also in the file of sites, the configuration there applies again. Cached pages of the site stay: see ' +
        '`DELETE /cache/{site_id}`.',
      access: 'full',
      params: sitePath,
      answers: { 200: jsonAnswer('Whether there was such a site.', removedSiteSchema) },
      problems: ['site_in_file'],
      async handle({ params: { site_id: id } }) {
        if (fileSites.has(id) && (await sites.get(id))?.source !== 'api') {
          throw new Problem('site_in_file', `${id} is in the file of sites: remove it there, and start Trawl again.`);
        }
        const { removed, restored } = await removeSite({ sites, clock }, id, fileSites);
        return { status: 200, json: { site_id: id, removed, restored: restored !== null } };
      },
    }),
  ];
}

/** Concurrent requests may exceed the limit, or set the same baseUrl twice: then the first id counts. */
function checkAgainst(known: readonly StoredSite[], id: string, baseUrl: string): void {
  const others = known.filter((site) => site.id !== id);
  if (others.length >= MAX_SITES) {
    throw invalid('', `There can be at most ${MAX_SITES.toLocaleString('en-US')} sites.`);
  }
  const same = others.find(({ config }) => config.baseUrl === baseUrl);
  if (same !== undefined) throw invalid('baseUrl', `is that of the site ${same.id}`);
}

function invalid(path: string, message: string): Problem {
  return new Problem('invalid_request', path === '' ? message : `${path} ${message}.`, [{ path, message }]);
}

function presentSite({ id, config, source, changedAt, version }: StoredSite): SiteAnswer {
  return { site_id: id, config, source, changed_at: new Date(changedAt).toISOString(), version };
}
