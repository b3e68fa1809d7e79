import { Problem } from '../../../contract/problem.ts';
import { type DiscoveryAnswer, discoverySchema } from '../../../contract/site-answers.ts';
import { discoverQuery } from '../../../contract/site-requests.ts';
import { proposeSite, type SiteFindings } from '../../../domain/site-findings.ts';
import type { ApiDeps } from '../api-deps.ts';
import { checkPause } from '../check-pause.ts';
import { jsonAnswer, type Operation, operation } from '../operation.ts';

/** Looks at a site that is not configured yet. */
export function discoverOperation(deps: ApiDeps): Operation {
  return operation({
    id: 'discoverSite',
    method: 'GET',
    path: '/discover',
    tag: 'sites',
    summary: 'Look at a site, and propose a configuration',
    description:
      'Requests the page, its Markdown, robots.txt, sitemaps and llms.txt, under the same egress rules as workers. Nothing is ' +
      'stored: send `config` to `PUT /sites/{site_id}`.',
    access: 'full',
    query: discoverQuery,
    answers: { 200: jsonAnswer('What was found, and a configuration that fits.', discoverySchema) },
    problems: ['page_not_read'],
    async handle({ query: { url, selector = null }, signal }) {
      await checkPause(deps, url);
      const inspection = await deps.siteInspector.inspect({ url, selector }, signal);
      if (inspection.kind === 'unreadable') throw new Problem('page_not_read', inspection.message);
      return { status: 200, json: presentFindings(inspection.findings) };
    },
  });
}

function presentFindings(findings: SiteFindings): DiscoveryAnswer {
  const { url, title, content, askedWords, markdown, sitemaps, llmsTxt } = findings;
  const { id, config } = proposeSite(findings);
  return {
    ...{ url, title, selector_words: askedWords, llms_txt: llmsTxt, site_id: id, config },
    content: { in_html: content.isInHtml, selector: content.selector, words: content.words },
    markdown: { suffix: markdown.hasSuffix, accept: markdown.hasAccept },
    sitemaps: sitemaps.map((sitemap) => ({ ...sitemap })),
  };
}
