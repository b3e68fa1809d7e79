import { Problem } from '../../../contract/problem.ts';
import { type DiscoveryAnswer, discoverySchema } from '../../../contract/site-answers.ts';
import { discoverQuery } from '../../../contract/site-requests.ts';
import { withOperatorPauses } from '../../../domain/host-settings.ts';
import { proposeSite, type SiteFindings } from '../../../domain/site-findings.ts';
import { parsePageUrl } from '../../../domain/site-url.ts';
import type { ApiDeps } from '../api-deps.ts';
import { jsonAnswer, type Operation, operation } from '../operation.ts';

/** Looks at a site that is not configured yet. */
export function discoverOperation({ siteInspector, hostPauses, hostSettings, clock }: ApiDeps): Operation {
  /** The API does not contact hosts that workers may not contact now. */
  async function checkPause(url: string): Promise<void> {
    const { host } = new URL(parsePageUrl(url)?.href ?? url);
    const now = clock.now();
    const [asked, settings] = await Promise.all([hostPauses.inForce(now), hostSettings.get(host)]);
    const pauses = withOperatorPauses(asked, settings === null ? [] : [settings], now);
    const pause = pauses.find((each) => each.host === host);
    if (pause === undefined) return;
    const until = new Date(pause.until).toISOString();
    throw new Problem('page_not_read', `${host} is paused until ${until}: ${pause.reason}.`);
  }

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
      await checkPause(url);
      const inspection = await siteInspector.inspect({ url, selector }, signal);
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
