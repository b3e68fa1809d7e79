/** What the demo county's script shows of a parcel, where it is, and whether it is an amount. */
const FIELDS = [
  ['apn', '#apn', false],
  ['owner', '#owner', false],
  ['address', '#address', false],
  ['property_use', '#use', false],
  ['market_value', '#market', true],
  ['assessed_value', '#assessed', true],
  ['bill', '#bills tbody tr:first-child td:nth-child(2)', false],
  ['total', '#bills tbody tr:first-child td:nth-child(3)', true],
] as const;

export interface Profile {
  readonly [name: string]: string | number;
}

/** Uses a function of cheerio, as most users would write it. */
export function readProfile($: (selector: string) => { text(): string }): Profile {
  const data: Record<string, string | number> = {};
  for (const [name, selector, isAmount] of FIELDS) {
    const text = $(selector).text().trim();
    if (text === '') throw new Error(`${selector} is empty`);
    data[name] = isAmount ? Number(text.replaceAll(/[$,]/g, '')) : text;
  }
  return data;
}
