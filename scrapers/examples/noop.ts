import { definePlainScraper, z } from 'trawl/scraper';

const NOTHING = { kind: 'scraped', artifacts: [] } as const;

export default definePlainScraper({
  id: 'example-noop',
  name: 'Does nothing',
  version: '1.0.0',
  description: 'Succeeds at once and keeps nothing. For measuring the engine.',
  input: z.unknown(),
  metadata: false,
  async scrape() {
    return NOTHING;
  },
});
