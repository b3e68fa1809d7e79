import { definePlainScraper, z } from 'trawl/scraper';

const encode = (text: string) => new TextEncoder().encode(text);

export default definePlainScraper({
  id: 'test-three-files',
  name: 'Keeps three files',
  version: '1.0.0',
  description:
    'Keeps a page, data and metadata made of its input, after as long as it says. For counting what storing them costs.',
  input: z.object({ number: z.number(), apn: z.string(), ms: z.number() }),
  async scrape({ input: { number, apn, ms }, sleep }) {
    if (ms > 0) await sleep(ms);
    const html = `<h1>${apn}</h1>${`<p>${number} </p>`.repeat(200)}`;
    return {
      kind: 'scraped',
      artifacts: [
        { kind: 'html', bytes: encode(html), contentType: 'text/html', extension: 'html' },
        { kind: 'data', bytes: encode(JSON.stringify({ apn })), contentType: 'application/json', extension: 'json' },
        {
          kind: 'metadata',
          bytes: encode(JSON.stringify({ number })),
          contentType: 'application/json',
          extension: 'json',
        },
      ],
    };
  },
});
