import { defineHttpScraper, expect, fail, z } from 'trawl/scraper';

const parcel = z.object({
  apn: z.string(),
  owner: z.string(),
  tax: z.number(),
  sales: z.array(z.object({ year: z.number(), price: z.number() })),
});
const answer = z.discriminatedUnion('status', [
  z.object({ status: z.literal('none') }),
  z.object({ status: z.literal('found'), parcel }),
]);

/** The model of a JSON API with tokens. */
export default defineHttpScraper({
  id: 'model-token-api',
  name: 'Token API',
  version: '1.0.0',
  description: 'Parcels of an API that wants a token.',
  input: z.strictObject({ apn: z.string() }),
  output: parcel,
  hosts: ['token-api.test'],
  async setup({ http, secret }) {
    const post = { json: { key: secret('model_key') } };
    return http.json('http://token-api.test/token', { post, schema: z.object({ token: z.string() }) });
  },
  async scrape({ input, http, state }) {
    const headers = { authorization: `Bearer ${state.token}` };
    const found = await http.json(`http://token-api.test/parcels/${input.apn}`, { headers, schema: answer });
    if (found.status === 'none') return fail('no_results', 'the API has no such parcel');
    expect.sameItem(found.parcel.apn, input.apn);
    return { pages: { parcel: found } };
  },
  parse({ pages }) {
    return pages.json('parcel', z.object({ parcel })).parcel;
  },
});
