import { definePlainScraper, FAILURE_TYPES, failure, type ProducedArtifact, z } from 'trawl/scraper';

/** Does what its input says: the cases need jobs of which some items fail and others store something to read. */
export default definePlainScraper({
  id: 'test-mixed',
  name: 'As its input says',
  version: '2.0.0',
  description: 'Fails with `type`, on a page if there is a `page`; or keeps a page and the data that the input gives.',
  input: z.looseObject({
    type: z.enum(FAILURE_TYPES).optional(),
    page: z.string().optional(),
    data: z.record(z.string(), z.unknown()).default({}),
  }),
  async scrape({ input, itemId }) {
    if (input.type !== undefined) {
      const seen =
        input.page === undefined ? [] : [artifact('failed_page', input.page, 'text/html; charset=utf-8', 'html')];
      return { kind: 'failed', failure: failure(input.type, `item ${itemId} fails`), artifacts: seen };
    }
    const page = `<h1>${itemId}</h1><script>alert('never')</script>`;
    const html = artifact('html', page, 'text/html; charset=utf-8', 'html');
    return {
      kind: 'scraped',
      artifacts: [html, artifact('data', JSON.stringify(input.data), 'application/json', 'json')],
    };
  },
});

function artifact(
  kind: 'html' | 'data' | 'failed_page',
  text: string,
  contentType: string,
  extension: string,
): ProducedArtifact {
  return { kind, bytes: new TextEncoder().encode(text), contentType, extension };
}
