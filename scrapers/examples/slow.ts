import { definePlainScraper, type ProducedArtifact, z } from 'trawl/scraper';

export default definePlainScraper({
  id: 'example-slow',
  name: 'Takes its time',
  version: '1.0.0',
  description: 'Waits for `ms` milliseconds and keeps `bytes` bytes that tell the item.',
  input: z.looseObject({ ms: z.number().default(10), bytes: z.number().default(0) }),
  async scrape({ input, itemId, sleep }) {
    await sleep(input.ms);
    return { kind: 'scraped', artifacts: input.bytes === 0 ? [] : [pageOf(itemId, input.bytes)] };
  },
});

function pageOf(itemId: string, bytes: number): ProducedArtifact {
  const text = `${itemId} `.repeat(Math.ceil(bytes / (itemId.length + 1))).slice(0, bytes);
  return { kind: 'html', bytes: new TextEncoder().encode(text), contentType: 'text/html', extension: 'html' };
}
