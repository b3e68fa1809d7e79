/** Ten fields of a parcel's page, where they are, and whether they are amounts: those that `demo-parcel` takes. */
const FIELDS = [
  ['apn', '#datalet_lblParid', false],
  ['owner', '#datalet_lblOwner', false],
  ['city', '#datalet_lblCity', false],
  ['zip', '#datalet_lblZip', false],
  ['use', '#datalet_lblUse', false],
  ['legal', '#datalet_lblLegal', false],
  ['market_value', '#datalet_lblMarket', true],
  ['assessed_value', '#datalet_lblAssessed', true],
  ['total_rate', '#datalet_lblTotalRate', true],
  ['total_tax', '#datalet_lblTotalTax', true],
] as const;

/** Uses a function of cheerio, as most users would write it. */
export function readFields($: (selector: string) => { text(): string }): Record<string, string | number> {
  const data: Record<string, string | number> = {};
  for (const [name, selector, isAmount] of FIELDS) {
    const text = $(selector).text().trim();
    if (text === '') throw new Error(`${selector} is empty`);
    data[name] = isAmount ? Number(text.replaceAll(/[$,]/g, '')) : text;
  }
  return data;
}
