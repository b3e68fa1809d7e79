import { defineHttpScraper, fail, z } from 'trawl/scraper';

/** The model of a site whose search may break: it then says "no records" to everything. */
export default defineHttpScraper({
  id: 'model-forgetful',
  name: 'Forgetful site',
  version: '1.0.0',
  description: 'Parcels of a site whose search may break.',
  input: z.strictObject({ apn: z.string() }),
  output: z.object({ apn: z.string(), owner: z.string(), printed: z.string() }),
  hosts: ['forgetful.test'],
  async scrape({ input, http }) {
    const page = await http.get(`http://forgetful.test/parcel/${input.apn}`);
    if (page.has('#none')) fail('no_results', 'no records found');
    return { data: { apn: page.text('#apn'), owner: page.text('#owner'), printed: page.text('#printed') } };
  },
});
