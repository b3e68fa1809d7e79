import { defineHttpScraper, expect, fail, type Page, z } from 'trawl/scraper';

const detail = z.object({ apn: z.string(), owner: z.string(), tax: z.number() });

/** The model of a listing with details. */
export default defineHttpScraper({
  id: 'model-listing',
  name: 'Listing',
  version: '1.0.0',
  description: 'All parcels of a district, from a listing over several pages.',
  input: z.strictObject({ district: z.number().int() }),
  output: z.object({ parcels: z.array(detail).min(1) }),
  hosts: ['listing.test'],
  async scrape({ input, http }) {
    const pages: Record<string, Page> = {};
    const links: string[] = [];
    let page = await http.get(`http://listing.test/district/${input.district}`);
    const total = page.number('#total');
    for (let number = 1; ; number += 1) {
      if (number > 10) fail('too_large', 'the listing has more than ten pages');
      pages[`list_${number}`] = page;
      links.push(...page.all('#results tr.parcel', (row) => row.link('a')));
      if (!page.has('a[rel=next]')) break;
      page = await page.follow('a[rel=next]');
    }
    expect.sameItem(`${links.length} parcels`, `${total} parcels`);
    const parcels: z.input<typeof detail>[] = [];
    for (const link of links) {
      const parcel = await http.get(link);
      parcels.push({ apn: parcel.text('#apn'), owner: parcel.text('#owner'), tax: parcel.money('#tax') });
    }
    return { pages, data: { parcels } };
  },
});
