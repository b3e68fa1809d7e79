import type { ProducedArtifact } from '../../src/domain/artifact.ts';
import type { Scraper } from '../../src/scraping/scraper.ts';

/** Input: `ms`, how long it takes (10 if absent); `bytes`, how much it keeps (nothing if absent). */
export default {
  id: 'example-slow',
  name: 'Takes its time',
  version: '1.0.0',
  description: 'Waits for `ms` milliseconds and keeps `bytes` bytes that tell the item.',
  lane: 'http',
  async scrape({ input, itemId, sleep }) {
    await sleep(numberOr(input['ms'], 10));
    const bytes = numberOr(input['bytes'], 0);
    return { kind: 'scraped', artifacts: bytes === 0 ? [] : [pageOf(itemId, bytes)] };
  },
} satisfies Scraper;

function pageOf(itemId: string, bytes: number): ProducedArtifact {
  const text = `${itemId} `.repeat(Math.ceil(bytes / (itemId.length + 1))).slice(0, bytes);
  return { kind: 'html', bytes: new TextEncoder().encode(text), contentType: 'text/html', extension: 'html' };
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}
