import { defineHttpScraper, z } from '../../../src/scraping/author.ts';

/** A start page that opens a session, and the page of the item. */
export default defineHttpScraper({
  id: 'bench-two-pages',
  name: 'Two pages',
  version: '1.0.0',
  description: 'For the benchmark retry-after: two requests per item.',
  input: z.strictObject({ base: z.url(), number: z.number().int() }),
  output: z.object({ number: z.number().int() }),
  hosts: ['127.0.0.1'],
  async scrape({ input, http }) {
    await http.get(`${input.base}/start`);
    const page = await http.get(`/item/${input.number}`);
    return { html: page, data: { number: page.number('h1') } };
  },
});
