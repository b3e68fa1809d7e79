import { defineHttpScraper, type PageToParse, z } from 'trawl/scraper';

/** Another site can be named in the input; TRAWL_ROUTES leads this one to the demo county, which serves the same path. */
const TRIAL_SITE = 'https://httpbin.org';

const input = z.looseObject({
  url: z.url({ protocol: /^https?$/ }).optional(),
  test_param: z.union([z.string(), z.number(), z.boolean()]).optional(),
  base_url: z.url({ protocol: /^https?$/ }).default(TRIAL_SITE),
});

/** With a `url`: keeps that page and outlines it. With any other input: one request to `/json` of the trial site. */
export default defineHttpScraper({
  id: 'example-http',
  name: 'Any page',
  version: '1.1.0',
  description:
    'Keeps a page of any site, with its title, its headings, and how many links and how much text it has. ' +
    'Without a url it sends test_param to a trial site, for trying jobs out.',
  input,
  output: z.object({
    item_id: z.string().optional(),
    test_param: z.union([z.string(), z.number(), z.boolean()]).nullish(),
    response_url: z.string(),
    status_code: z.number().int().optional(),
    content_length: z.number().int(),
    url: z.string().optional(),
    title: z.string().nullish(),
    headings: z.array(z.string()).optional(),
    links: z.number().int().optional(),
    text_length: z.number().int().optional(),
  }),
  hosts: [],
  async scrape({ input, http, itemId }) {
    const page = input.url === undefined ? await http.get(...trialOf(input)) : await http.get(input.url);
    return { html: page, data: { item_id: itemId, status_code: page.status, ...read(page, input) } };
  },
  parse: ({ page, input }) => read(page, input),
});

function trialOf({ base_url, test_param }: z.output<typeof input>) {
  const query = test_param === undefined ? {} : { test: test_param };
  return [`${base_url.replace(/\/+$/, '')}/json`, { query }] as const;
}

function read(page: PageToParse, { url, test_param }: z.output<typeof input>) {
  const answer = { response_url: page.url, content_length: Buffer.byteLength(page.body) };
  return url === undefined ? { ...answer, test_param: test_param ?? null } : { ...answer, ...outlineOf(page) };
}

function outlineOf(page: PageToParse) {
  const headings = page.all('h1, h2, h3', (heading) => heading.optional.text());
  return {
    url: page.url,
    title: page.optional.text('title'),
    headings: headings.filter((text) => text !== null),
    links: page.all('a[href]', () => null).length,
    text_length: (page.optional.text('body') ?? '').length,
  };
}
