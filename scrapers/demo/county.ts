import {
  defineHttpScraper,
  expect,
  fail,
  type HttpClient,
  type Page,
  parseDate,
  parseMoney,
  parseNumber,
  type Reader,
  type Table,
  z,
} from 'trawl/scraper';

const SITE = 'http://demo-county.test';
const FIELD = '#datalet_lbl';

const amount = z.number();
const instalment = z.object({
  tax_year: z.number().int(),
  name: z.string(),
  due_on: z.iso.date(),
  amount,
  paid_on: z.iso.date().nullable(),
  receipt: z.string().nullable(),
});

const output = z
  .object({
    apn: z.string(),
    tax_year: z.number().int(),
    owner: z.string().min(1),
    co_owner: z.string().nullable(),
    mailing_address: z.array(z.string()).min(1),
    situs_address: z.string(),
    situs_city: z.string(),
    situs_zip: z.string().regex(/^\d{5}$/),
    property_use: z.string(),
    tax_area: z.string(),
    lot_square_feet: z.number().int(),
    living_square_feet: z.number().int().nullable(),
    year_built: z.number().int().nullable(),
    subdivision: z.string(),
    legal_description: z.string(),
    land_value: amount,
    improvement_value: amount,
    market_value: amount,
    assessment_ratio_percent: amount,
    assessed_value: amount,
    total_tax: amount,
    previous_total_tax: amount,
    values: z.array(z.object({ tax_year: z.number().int(), market_value: amount, assessed_value: amount })).min(1),
    districts: z.array(z.object({ code: z.string(), name: z.string(), rate_per_100: amount, tax: amount })).min(1),
    bills: z.array(
      z.object({ tax_year: z.number().int(), number: z.string(), total: amount, paid: amount, due: amount }),
    ),
    instalments: z.array(instalment),
  })
  // A column read in the wrong place is seen here, and nowhere else.
  .refine(({ total_tax, districts }) => inCents(total_tax) === sum(districts.map(({ tax }) => inCents(tax))), {
    path: ['total_tax'],
    message: 'is not the sum of the districts',
  });

/**
 * The demo county works like those built on iasWorld: a disclaimer, a search form with hidden state, a list of results
 * whose links are postbacks, and pages that show whatever parcel the session has chosen.
 */
export default defineHttpScraper({
  id: 'demo-county',
  name: 'Demo County',
  version: '1.0.0',
  description:
    'Profile of a parcel of the demo county: owner, values, taxes by district, payments, and the bill as PDF.',
  input: z.strictObject({
    apn: z.string().regex(/^\d{3}-\d{2}-\d{3}[A-Z]?$/, 'an APN looks like 101-23-045'),
    bill: z.boolean().default(true),
  }),
  output,
  hosts: ['demo-county.test'],
  signs: { nothingFound: ['Your search did not find any records'] },

  async scrape({ input, http }) {
    const search = await openSearch(http);
    const list = await search.form().fill({ inpParid: input.apn, hdAction: 'Search' }).submit('btSearch');
    const page = await list.follow(linkTo(input.apn, list));
    expect.text(page, 'Property Profile');
    expect.sameItem(page.text(`${FIELD}Parid`), input.apn);
    const newestBill = '#datalet_gvBills a';
    const document = input.bill ? await http.document(page.link(newestBill), { as: 'pdf' }) : null;
    return { html: page, document };
  },

  parse({ page }) {
    return {
      apn: page.text(`${FIELD}Parid`),
      tax_year: page.number(`${FIELD}Year`),
      owner: page.text(`${FIELD}Owner`),
      co_owner: page.optional.text(`${FIELD}CoOwner`),
      mailing_address: page.lines(`${FIELD}Mailing`),
      situs_address: page.lines(`${FIELD}Situs`).join(', '),
      situs_city: page.text(`${FIELD}City`),
      situs_zip: page.text(`${FIELD}Zip`),
      property_use: page.text(`${FIELD}Use`),
      tax_area: page.text(`${FIELD}TaxArea`),
      lot_square_feet: squareFeet(page.text(`${FIELD}LotSize`)),
      living_square_feet: optionally(page.optional.text(`${FIELD}LivingArea`), squareFeet),
      year_built: page.optional.number(`${FIELD}YearBuilt`),
      subdivision: page.text(`${FIELD}Subdivision`),
      legal_description: page.text(`${FIELD}Legal`),
      land_value: page.money(`${FIELD}Land`),
      improvement_value: page.money(`${FIELD}Improvements`),
      market_value: page.money(`${FIELD}Market`),
      assessment_ratio_percent: page.percent(`${FIELD}Ratio`),
      assessed_value: page.money(`${FIELD}Assessed`),
      total_tax: page.money(`${FIELD}TotalTax`),
      previous_total_tax: page.money(`${FIELD}TotalPrevious`),
      ...tablesOf(page),
    };
  },
});

/** Asks for consent on the first visit; a cookie remembers it. */
async function openSearch(http: HttpClient): Promise<Page> {
  const page = await http.get(`${SITE}/search/CommonSearch.aspx?mode=REALPROP`);
  return page.has('#btAgree') ? page.form().submit('btAgree') : page;
}

/** The site searches by the beginning of a number, so that others may be in the list. */
function linkTo(apn: string, list: Page): string {
  const rows = list.all('#searchResults tr.SearchResults', (row) => [row.text('td a'), row.attribute('td a', 'id')]);
  if (rows.length === 0) throw list.missing('a row in #searchResults');
  const [, id] = rows.find(([found]) => found === apn) ?? [];
  // The exact number would come first: a list of longer ones (006A for 006) says that there is no such parcel.
  return id === undefined ? fail('no_results', `the site lists other parcels, and not ${apn} (${list.url})`) : `#${id}`;
}

function tablesOf(page: Reader) {
  const year = page.text(`${FIELD}Year`);
  const values = rowsOf(page, '#datalet_gvValues', ['Tax Year', 'Market Value', 'Assessed Value']);
  const districts = rowsOf(page, '#datalet_gvDistricts', ['Code', 'Tax District', 'Rate/100', year]);
  const bills = rowsOf(page, '#datalet_gvBills', ['Tax Year', 'Bill Number', 'Total', 'Paid', 'Due']);
  const instalments = rowsOf(page, '#datalet_gvPayments', ['Tax Year', 'Due Date', 'Amount', 'Paid On', 'Receipt']);
  return {
    values: values.map((row) => ({
      tax_year: Number(row['Tax Year']),
      market_value: money(row['Market Value']),
      assessed_value: money(row['Assessed Value']),
    })),
    // The last row is the total, and has no code.
    districts: districts
      .filter((row) => row['Code'] !== '')
      .map((row) => ({
        code: row['Code'] ?? '',
        name: row['Tax District'] ?? '',
        rate_per_100: money(row['Rate/100']),
        tax: money(row[year]),
      })),
    bills: bills.map((row) => ({
      tax_year: Number(row['Tax Year']),
      number: row['Bill Number'] ?? '',
      total: money(row['Total']),
      paid: money(row['Paid']),
      due: money(row['Due']),
    })),
    instalments: instalments.map((row) => ({
      tax_year: Number(row['Tax Year']),
      name: row['Installment'] ?? '',
      due_on: parseDate(row['Due Date'] ?? '') ?? '',
      amount: money(row['Amount']),
      paid_on: parseDate(row['Paid On'] ?? ''),
      receipt: row['Receipt'] || null,
    })),
  };
}

/** The rows of a table that has these columns; without one of them the site has changed. */
function rowsOf(page: Reader, selector: string, columns: readonly string[]): Table['rows'] {
  const table = page.table(selector);
  for (const column of columns) table.column(column);
  return table.rows;
}

/** What is not an amount is refused by the output's schema. */
function money(text: string | undefined): number {
  return parseMoney(text ?? '') ?? Number.NaN;
}

function squareFeet(text: string): number {
  return parseNumber(text.replace(/ sq ft$/, '')) ?? Number.NaN;
}

function optionally<T>(text: string | null, read: (text: string) => T): T | null {
  return text === null ? null : read(text);
}

function inCents(dollars: number): number {
  return Math.round(dollars * 100);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
