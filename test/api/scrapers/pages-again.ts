import { defineHttpScraper, z } from 'trawl/scraper';

/** Builds its pages from its input; the newer parse of test-pages. */
export default defineHttpScraper({
  id: 'test-pages-again',
  name: 'Pages of another',
  version: '2.0.0',
  description: 'Keeps a page with the `owner` and JSON with the `tax` of its input; reads a negative tax as none.',
  input: z.object({ owner: z.string(), tax: z.number() }),
  output: z.object({ owner: z.string(), tax: z.number().min(0) }),
  hosts: ['nowhere.test'],
  async scrape({ input: { owner, tax } }) {
    return { pages: { profile: `<p class="owner">${owner}</p>${' '.repeat(2000)}`, taxes: { tax } } };
  },
  parse({ pages }) {
    const { tax } = pages.json('taxes', z.object({ tax: z.number() }));
    return { owner: pages.get('profile').text('.owner').toUpperCase(), tax: Math.max(0, tax) };
  },
});
