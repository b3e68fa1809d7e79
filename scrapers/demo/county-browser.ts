import { defineBrowserScraper, expect, parseMoney, z } from 'trawl/scraper';

const SITE = 'http://demo-county.test';

/**
 * The demo county's new site is made by a script: a disclaimer that can be accepted after a moment, a search that begins
 * while one types, results and profiles that are filled in later, and a bill that comes by a click.
 */
export default defineBrowserScraper({
  id: 'demo-county-browser',
  name: 'Demo County, in a browser',
  version: '1.0.0',
  description:
    'Profile of a parcel of the demo county and its bill as PDF, from the site that only works in a browser.',
  input: z.strictObject({
    apn: z.string().regex(/^\d{3}-\d{2}-\d{3}[A-Z]?$/, 'an APN looks like 101-23-045'),
    bill: z.boolean().default(true),
  }),
  output: z.object({
    apn: z.string(),
    owner: z.string().min(1),
    address: z.string(),
    property_use: z.string(),
    market_value: z.number(),
    assessed_value: z.number(),
    bills: z
      .array(z.object({ tax_year: z.number().int(), number: z.string(), total: z.number(), due: z.number() }))
      .min(1),
  }),
  hosts: ['demo-county.test'],

  async scrape({ input, page, tab }) {
    await tab.goto(`${SITE}/app`, { expectElement: '#submitDisclaimerAccept, #searchInput' });
    const accept = page.locator('#submitDisclaimerAccept');
    // Playwright waits until the button can be clicked.
    if ((await accept.count()) > 0) await accept.click();
    await page.fill('#searchInput', input.apn);
    const row = `.ss-search-row a:text-is("${input.apn}")`;
    const found = await tab.waitFor({ element: row }, { text: 'No results were found' });
    if (found === 1) throw (await tab.read()).missing(`the parcel ${input.apn}`);
    await page.click(row);
    await tab.waitFor({ element: '#profile' });
    const profile = await tab.read({ expectElement: '#billButton' });
    expect.sameItem(profile.text('#apn'), input.apn);
    const document = input.bill ? await tab.download({ click: '#billButton' }, { as: 'pdf' }) : null;
    return { html: profile, document };
  },

  parse({ page }) {
    return {
      apn: page.text('#apn'),
      owner: page.text('#owner'),
      address: page.text('#address'),
      property_use: page.text('#use'),
      market_value: page.money('#market'),
      assessed_value: page.money('#assessed'),
      bills: page.table('#bills').rows.map((row) => ({
        tax_year: Number(row['Year']),
        number: row['Bill'] ?? '',
        total: parseMoney(row['Total'] ?? '') ?? Number.NaN,
        due: parseMoney(row['Due'] ?? '') ?? Number.NaN,
      })),
    };
  },
});
