import type { Scraper } from '../../src/scraping/scraper.ts';

const NOTHING = { kind: 'scraped', artifacts: [] } as const;

export default {
  id: 'example-noop',
  name: 'Does nothing',
  version: '1.0.0',
  description: 'Succeeds at once and keeps nothing. For measuring the engine.',
  lane: 'http',
  async scrape() {
    return NOTHING;
  },
} satisfies Scraper;
