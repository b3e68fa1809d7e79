import { defineHttpScraper, z } from 'trawl/scraper';

/** Builds its pages from its input, and parses only two of them. */
export default defineHttpScraper({
  id: 'test-pages',
  name: 'Pages of its own',
  version: '1.0.0',
  description: 'Keeps a page with the `owner` and JSON with the `tax` of its input; cannot read a negative tax.',
  input: z.object({ owner: z.string(), tax: z.number() }),
  output: z.object({ owner: z.string(), tax: z.number().min(0) }),
  hosts: ['nowhere.test'],
  async scrape({ input: { owner, tax } }) {
    return { pages: { profile: `<p class="owner">${owner}</p>${' '.repeat(2000)}`, taxes: { tax } } };
  },
  parse({ pages }) {
    const { tax } = pages.json('taxes', z.object({ tax: z.number() }));
    return { owner: pages.get('profile').text('.owner'), tax };
  },
});
