import { defineHttpScraper, expect, z } from 'trawl/scraper';

const [text, number] = [z.string().min(1), z.number()];

export default defineHttpScraper({
  id: 'demo-parcel',
  name: 'Demo County, one page',
  version: '1.0.0',
  description: 'Ten fields of a parcel of the demo county, by one request. For measuring.',
  input: z.strictObject({ apn: z.string().min(1) }),
  output: z.object({
    ...{ apn: text, owner: text, city: text, zip: text, use: text, legal: text },
    ...{ market_value: number, assessed_value: number, total_rate: number, total_tax: number },
  }),
  hosts: ['demo-county.test'],
  async scrape({ input, http }) {
    return { html: await http.get(`http://demo-county.test/parcel/${encodeURIComponent(input.apn)}`) };
  },
  parse({ page, input }) {
    expect.sameItem(page.text('#datalet_lblParid'), input.apn);
    return {
      apn: page.text('#datalet_lblParid'),
      owner: page.text('#datalet_lblOwner'),
      city: page.text('#datalet_lblCity'),
      zip: page.text('#datalet_lblZip'),
      use: page.text('#datalet_lblUse'),
      legal: page.text('#datalet_lblLegal'),
      market_value: page.money('#datalet_lblMarket'),
      assessed_value: page.money('#datalet_lblAssessed'),
      total_rate: page.number('#datalet_lblTotalRate'),
      total_tax: page.money('#datalet_lblTotalTax'),
    };
  },
});
