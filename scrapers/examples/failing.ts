import { FAILURE_TYPES, failure } from '../../src/domain/failure.ts';
import type { Scraper } from '../../src/scraping/scraper.ts';

/** Input: `type`, one of the failure table (server_error if absent). */
export default {
  id: 'example-fail',
  name: 'Always fails',
  version: '1.0.0',
  description: 'Fails with the failure `type` that its input names.',
  lane: 'http',
  async scrape({ input, itemId }) {
    const type = FAILURE_TYPES.find((known) => known === input['type']) ?? 'server_error';
    return { kind: 'failed', failure: failure(type, `item ${itemId} was asked to fail`) };
  },
} satisfies Scraper;
