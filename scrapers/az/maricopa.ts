import { defineHttpScraper, expect, parseMoney, parsePercent, type Reader, z } from 'trawl/scraper';

const SITE = 'https://treasurer.maricopa.gov';
const BILL = '#cphMainContent_cphRightColumn_dtlTaxBill_';
const DUE = '#cphMainContent_cphRightColumn_';

/** `NOT TAXED` takes the place of an amount: nothing is owed, and nothing is missing. */
const amount = z.number().nullable();

const district = z.object({
  district: z.string(),
  rate_per_100: amount,
  previous_year: amount,
  current_year: amount,
  change_percent: amount,
});

const output = z.object({
  apn: z.string(),
  tax_year: z.number().int().min(1900).max(2200),
  owner: z.string().min(1),
  mailing_address: z.array(z.string()),
  situs_address: z.string().nullable(),
  area_code: z.string(),
  total_tax: z.number(),
  previous_total_tax: amount,
  total_rate: amount,
  market_value: amount,
  assessment_ratio_percent: amount,
  assessed_value: amount,
  previous_market_value: amount,
  limited_value: amount,
  tax_assessed: amount,
  tax_paid: amount,
  tax_due: amount,
  primary_districts: z.array(district),
  education_districts: z.array(district),
  secondary_districts: z.array(district),
  special_districts: z.array(district),
});

/**
 * The treasurer keeps the chosen parcel in the session: the first request chooses it, every later one is about it. So
 * one item is one session, and the parcel number on the page is compared with the one that was asked for.
 */
export default defineHttpScraper({
  id: 'maricopa-az',
  name: 'Maricopa County, AZ',
  version: '1.0.0',
  description: 'Tax statement of a parcel from the treasurer: owner, values, rates, districts, and what is due.',
  input: z.strictObject({ apn: z.string().regex(/^\d{3}-\d{2}-\d{3}[A-Z]?$/, 'an APN looks like 200-14-030') }),
  output,
  hosts: ['treasurer.maricopa.gov'],
  signs: { nothingFound: ['No records found'] },

  async scrape({ input, http }) {
    const landing = await http.get(`${SITE}/Parcel`, { query: { Parcel: input.apn.replaceAll('-', '') } });
    // The link leads to the search form at times, as if the parameter had been forgotten.
    const isForm = landing.has('#txtParcelNumBook');
    const summary = isForm ? await landing.form().fill(searchFields(input.apn)).submit('#btnGo') : landing;
    const due = readDue(summary);

    const page = await http.get('/Parcel/DetailedTaxStatement.aspx');
    expect.text(page, 'Detailed Tax Statement');
    const heading = page.text('#siteInnerContentContainer .rightColumn .panel-header h3');
    const [, year = '', apn = ''] = /^(\d{4}) Detailed Tax Statement for Parcel#\s*(\S+)/.exec(heading) ?? [];
    expect.sameItem(apn, input.apn);
    const [owner = '', ...mailing] = page.lines(`${BILL}ParcelNASitusLegal_lblNameAddress`);

    const data = {
      apn: input.apn,
      tax_year: Number(year),
      owner,
      mailing_address: mailing,
      situs_address: page.optional.text(`${BILL}ParcelNASitusLegal_lblSitusAddress`),
      area_code: page.text(`${BILL}lblAreaCode`),
      total_tax: page.money(`${BILL}lblGrandTotalCurrentYear`),
      previous_total_tax: parseMoney(page.text(`${BILL}lblGrandTotalPreviousYear`)),
      total_rate: page.optional.number(`${BILL}lblGrandTotalRate`),
      market_value: parseMoney(page.text(`${BILL}lblCurrentYearPrimaryValue`)),
      assessment_ratio_percent: parsePercent(page.text(`${BILL}lblCurrentYearPrimaryRatio`)),
      assessed_value: parseMoney(page.text(`${BILL}lblCurrentYearPrimaryAssessedValue`)),
      previous_market_value: parseMoney(page.text(`${BILL}lblPreviousYearPrimaryValue`)),
      limited_value: parseMoney(page.optional.text(`${BILL}lblCurrentYearSecondaryValue`) ?? ''),
      ...due,
      primary_districts: readDistricts(page, 'gvPrimaryDistricts'),
      education_districts: readDistricts(page, 'gvEducationDistricts'),
      secondary_districts: readDistricts(page, 'gvSecondaryDistricts'),
      special_districts: readDistricts(page, 'gvSpecialDistricts'),
    };
    return { html: page, data };
  },
});

function searchFields(apn: string): Record<string, string> {
  const [book = '', map = '', item = ''] = apn.split('-');
  return {
    '#txtParcelNumBook': book,
    '#txtParcelNumMap': map,
    '#txtParcelNumItem': item.slice(0, 3),
    '#txtParcelNumSplit': item.slice(3),
  };
}

/** The summary comes in two layouts, a table and a list; either has assessed, paid and due in places 2, 4 and 6. */
function readDue(page: Reader) {
  const part = page.has(`${DUE}taxDue1`) ? [`${DUE}taxDue1`, 'td'] : [`${DUE}taxDue2`, 'li'];
  const [, assessed = '', , paid = '', , due = ''] = page
    .within(part[0] ?? '')
    .all(part[1] ?? '', (cell) => cell.text());
  return { tax_assessed: parseMoney(assessed), tax_paid: parseMoney(paid), tax_due: parseMoney(due) };
}

/** Columns: Tax District, Rate/100, previous year, year, Change. The years are the headers of columns 3 and 4. */
function readDistricts(page: Reader, id: string): z.infer<typeof district>[] {
  const table = page.optional.table(`${BILL}${id}`);
  return (table?.cells ?? []).map(([name = '', rate = '', previous = '', current = '', change = '']) => ({
    district: name,
    rate_per_100: parseMoney(rate),
    previous_year: parseMoney(previous),
    current_year: parseMoney(current),
    change_percent: parsePercent(change),
  }));
}
