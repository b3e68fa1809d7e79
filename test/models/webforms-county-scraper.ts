import { defineHttpScraper, expect, type Page, z } from 'trawl/scraper';

const SITE = 'http://webforms-county.test';

/** A scraper as an author would write it for the WebForms county. */
export default defineHttpScraper({
  id: 'webforms-county',
  name: 'WebForms County',
  version: '1.0.0',
  description: 'Owner, addresses, values and bills of a parcel, found by the name of its owner.',
  input: z.strictObject({ parid: z.string().regex(/^R-\d{5}$/), owner: z.string().min(1) }),
  output: z.object({
    parid: z.string(),
    owner: z.string(),
    mailing_address: z.string(),
    legal_description: z.string(),
    values: z.array(z.object({ year: z.number(), land: z.number(), improvements: z.number() })).min(1),
    bills: z.array(z.object({ id: z.string(), year: z.number(), amount: z.number(), balance: z.number() })).min(1),
  }),
  hosts: ['webforms-county.test'],
  signs: { nothingFound: ['Your search returned no parcels'] },

  async scrape({ input, http }) {
    const start = await http.get(`${SITE}/Search.aspx`);
    const isAsked = start.has('#btnAgree');
    const search = isAsked ? await start.form().submit('btnAgree', { expectElement: '#txtOwner' }) : start;
    const filled = search.form().fill({ txtOwner: input.owner, txtParid: input.parid });
    const list = await filled.submit('btnSearch', { expectElement: '#gvParcels' });
    const page = await list.follow(linkTo(input.parid, list));
    expect.text(page, 'Parcel Detail');
    const document = await http.document(page.link('#gvBills a'), { as: 'pdf', optional: true });
    return { html: page, document };
  },

  parse({ page, input }) {
    const facts = page.keyValues('#tblFacts');
    const parid = facts['Parcel'] ?? '';
    expect.sameItem(parid, input.parid);
    return {
      parid,
      owner: facts['Owner'] ?? '',
      mailing_address: facts['Mailing Address'] ?? '',
      legal_description: facts['Legal Description'] ?? '',
      values: page.all('#gvValues tr:has(td)', (row) => ({
        year: row.number('td'),
        land: row.money('td:nth-child(2)'),
        improvements: row.money('td:nth-child(3)'),
      })),
      bills: page.all('#gvBills tr[data-bill]', (row) => ({
        id: row.attribute(':scope', 'data-bill'),
        year: row.number('td'),
        amount: row.money('td:nth-child(2)'),
        balance: row.money('td:nth-child(3)'),
      })),
    };
  },
});

/** An owner may have several parcels. */
function linkTo(parid: string, list: Page): string {
  return `#${list.attribute(`#gvParcels tr[data-parid="${parid}"] a`, 'id')}`;
}
