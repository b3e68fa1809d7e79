import { existsSync } from 'node:fs';
import { definePlainScraper, failure, z } from 'trawl/scraper';

/** A page of a run, without a site: how it ends is in its URL. */
export default definePlainScraper({
  id: 'test-run-pages',
  name: 'Pages of a run',
  version: '1.0.0',
  description:
    'Ends as `?end=` says; with `?unless=` it fails until that file exists, with `?while=` it waits until it is gone.',
  input: z.object({ url: z.string() }),
  async scrape({ input, sleep }) {
    const asked = new URL(input.url).searchParams;
    const file = asked.get('unless');
    if (file !== null && !existsSync(file)) {
      return { kind: 'failed', failure: failure('structure_changed', 'the page has changed') };
    }
    if (asked.get('end') === 'missing')
      return { kind: 'failed', failure: failure('not_found', 'there is no such page') };
    if (asked.get('end') === 'broken') return { kind: 'failed', failure: failure('invalid_output', 'no owner') };
    for (const gate = asked.get('while'); gate !== null && existsSync(gate); ) await sleep(20);
    const bytes = new TextEncoder().encode(JSON.stringify({ url: input.url }));
    return {
      kind: 'scraped',
      artifacts: [{ kind: 'data', bytes, contentType: 'application/json', extension: 'json' }],
    };
  },
});
