import { defineBrowserScraper, expect, parseMoney, z } from '../../../src/scraping/author.ts';

const SITE = 'http://demo-county.test';

export default defineBrowserScraper({
  id: 'bench-profile',
  name: 'Profile of a parcel',
  version: '1.0.0',
  description: 'What the others that are measured take of the demo county, too.',
  input: z.strictObject({ apn: z.string() }),
  output: z.object({
    apn: z.string(),
    owner: z.string(),
    address: z.string(),
    property_use: z.string(),
    market_value: z.number(),
    assessed_value: z.number(),
    bill: z.string(),
    total: z.number(),
  }),
  hosts: ['demo-county.test'],

  async scrape({ input, page, tab }) {
    await page.context().addCookies([{ name: 'AGREED', value: '1', url: SITE }]);
    const profile = await tab.goto(`${SITE}/app/parcel?apn=${input.apn}`, { expectElement: '#profile' });
    expect.sameItem(profile.text('#apn'), input.apn);
    return { html: profile };
  },

  parse({ page }) {
    const [bill] = page.table('#bills').rows;
    return {
      apn: page.text('#apn'),
      owner: page.text('#owner'),
      address: page.text('#address'),
      property_use: page.text('#use'),
      market_value: page.money('#market'),
      assessed_value: page.money('#assessed'),
      bill: bill?.['Bill'] ?? '',
      total: parseMoney(bill?.['Total'] ?? '') ?? Number.NaN,
    };
  },
});
