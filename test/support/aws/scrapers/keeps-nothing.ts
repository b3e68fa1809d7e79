import { definePlainScraper, z } from 'trawl/scraper';

export default definePlainScraper({
  id: 'test-keeps-nothing',
  name: 'Keeps nothing',
  version: '1.0.0',
  description: 'Takes as long as its input says, and keeps nothing. For counting what the engine itself costs.',
  input: z.object({ ms: z.number() }),
  metadata: false,
  async scrape({ input: { ms }, sleep }) {
    if (ms > 0) await sleep(ms);
    return { kind: 'scraped', artifacts: [] };
  },
});
