import { defineHttpScraper, z } from 'trawl/scraper';

/** The model of a site that is followed by its links. */
export default defineHttpScraper({
  id: 'model-linked',
  name: 'Linked',
  version: '1.0.0',
  description: 'Pages of a site, and those that they lead to.',
  input: z.strictObject({ url: z.url() }),
  output: z.object({ title: z.string() }),
  hosts: ['linked.test'],
  async scrape({ input, http }) {
    const page = await http.get(input.url);
    const found = page.all('a.next', (link) => ({ input: { url: link.link() } }));
    return { html: page, data: { title: page.text('#title') }, found };
  },
});
