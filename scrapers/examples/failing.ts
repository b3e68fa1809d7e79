import { definePlainScraper, FAILURE_TYPES, failure, z } from 'trawl/scraper';

export default definePlainScraper({
  id: 'example-fail',
  name: 'Always fails',
  version: '1.0.0',
  description: 'Fails with the failure `type` that its input names, server_error if it names none.',
  input: z.looseObject({ type: z.enum(FAILURE_TYPES).default('server_error') }),
  async scrape({ input, itemId }) {
    return { kind: 'failed', failure: failure(input.type, `item ${itemId} was asked to fail`) };
  },
});
