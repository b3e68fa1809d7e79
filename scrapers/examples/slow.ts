import type { Scraper } from '../../src/scraping/scraper.ts';

/** Input: `ms`, how long it takes (10 if absent). */
export default {
  id: 'example-slow',
  name: 'Takes its time',
  version: '1.0.0',
  description: 'Waits for `ms` milliseconds and keeps its input as data.',
  lane: 'http',
  async scrape({ input, itemId, sleep }) {
    await sleep(typeof input['ms'] === 'number' ? input['ms'] : 10);
    const bytes = new TextEncoder().encode(`${JSON.stringify({ item_id: itemId, input })}\n`);
    return {
      kind: 'scraped',
      artifacts: [{ kind: 'data', bytes, contentType: 'application/json', extension: 'json' }],
    };
  },
} satisfies Scraper;
