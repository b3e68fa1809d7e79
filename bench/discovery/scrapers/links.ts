import { definePlainScraper, z } from '../../../src/scraping/author.ts';

/** Lists that lead to items; the items themselves cost nothing. */
export default definePlainScraper({
  id: 'bench-links',
  name: 'Links',
  version: '1.0.0',
  description: 'A list leads to as many items as it says, from its first on.',
  input: z.union([
    z.object({ first: z.number(), links: z.number() }),
    z.object({ apn: z.string(), county: z.string() }),
  ]),
  metadata: false,
  async scrape({ input }) {
    if (!('first' in input)) return { kind: 'scraped', artifacts: [] };
    const found = Array.from({ length: input.links }, (_, index) => {
      const number = input.first + index;
      const parcel = ((number * 2_654_435_761) % 4_294_967_296).toString(36);
      return { item_id: `parcel-${parcel}-${number}`, input: { apn: `200-14-${number}`, county: 'demo' } };
    });
    return { kind: 'scraped', artifacts: [], found };
  },
});
