import type { ScraperRegistry } from './registry.ts';
import type { ScraperSummary } from './scan-scraper.ts';

const SITE_PAGE: ScraperSummary = {
  id: 'site-page',
  name: 'Documentation page',
  version: '1.0.0',
  description: 'Pulls a page of documentation as Markdown, by the configuration of its site',
  kind: 'http',
  hosts: [],
};

/** Scrapers that are part of the engine. Their code is loaded when one is first asked for. */
export function addBuiltIns(registry: ScraperRegistry): ScraperRegistry {
  registry.addBuiltIn(SITE_PAGE, async () => {
    const { sitePageScraper } = await import('./site-page/site-page.ts');
    return sitePageScraper(SITE_PAGE);
  });
  return registry;
}
