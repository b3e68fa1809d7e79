import { defineHttpScraper, z } from 'trawl/scraper';

export default defineHttpScraper({
  id: 'example-http',
  name: 'Any page',
  version: '1.0.0',
  description: 'Keeps a page of any site, with its title, its headings, and how many links and how much text it has.',
  input: z.strictObject({ url: z.url({ protocol: /^https?$/ }) }),
  output: z.object({
    url: z.string(),
    title: z.string().nullable(),
    headings: z.array(z.string()),
    links: z.number().int(),
    text_length: z.number().int(),
  }),
  hosts: [],
  async scrape({ input, http }) {
    return { html: await http.get(input.url) };
  },
  parse({ page }) {
    const headings = page.all('h1, h2, h3', (heading) => heading.optional.text());
    return {
      url: page.url,
      title: page.optional.text('title'),
      headings: headings.filter((text) => text !== null),
      links: page.all('a[href]', () => null).length,
      text_length: (page.optional.text('body') ?? '').length,
    };
  },
});
