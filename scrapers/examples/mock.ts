import { createHash } from 'node:crypto';
import { definePlainScraper, z } from 'trawl/scraper';

export default definePlainScraper({
  id: 'example-mock',
  name: 'Made-up property',
  version: '1.1.0',
  description:
    'Makes up the data of a parcel from its number, or from whatever else the input is: always the same, and without ' +
    'the web. For trying jobs out.',
  input: z.looseObject({ apn: z.string().min(1).max(100).optional() }),
  async scrape({ input }) {
    const data = propertyOf(input.apn ?? numberFor(input));
    const html = {
      kind: 'html',
      bytes: encode(pageOf(data)),
      contentType: 'text/html; charset=utf-8',
      extension: 'html',
    } as const;
    const json = {
      kind: 'data',
      bytes: encode(`${JSON.stringify(data)}\n`),
      contentType: 'application/json',
      extension: 'json',
    } as const;
    return { kind: 'scraped', artifacts: [html, json] };
  },
});

const OWNERS = [
  'SMITH JOHN & MARY',
  'GARCIA CARLOS',
  'NGUYEN LINDA',
  'COPPER STATE HOLDINGS LLC',
  "O'BRIEN FAMILY TRUST",
];
const STREETS = ['E CACTUS RD', 'N CENTRAL AVE', 'W SUNSET DR', 'S MISSION LN', 'W QUAIL RUN'];
const CITIES = ['CEDAR FLATS', 'SAN LORENZO', 'PORT ALMA', 'RIO SECO'];
const TAX_RATE_PERCENT = 11.2;

/** A number like those of real parcels, which differs where the input does. */
function numberFor(input: object): string {
  const hash = createHash('sha256').update(JSON.stringify(input)).digest();
  const digits = (at: number, count: number) => String(hash.readUInt16BE(at) % 10 ** count).padStart(count, '0');
  return `${digits(0, 3)}-${digits(2, 2)}-${digits(4, 3)}`;
}

function propertyOf(apn: string) {
  const hash = createHash('sha256').update(apn).digest();
  const pick = (from: readonly string[], at: number) => from[hash.readUInt16BE(at) % from.length] ?? '';
  const marketValue = 90_000 + (hash.readUInt32BE(6) % 7000) * 100;
  const assessedValue = marketValue / 10;
  return {
    apn,
    owner: pick(OWNERS, 0),
    situs_address: `${100 + (hash.readUInt16BE(10) % 9900)} ${pick(STREETS, 2)}, ${pick(CITIES, 4)}`,
    year_built: 1950 + (hash.readUInt8(12) % 74),
    market_value: marketValue,
    assessed_value: assessedValue,
    total_tax: Math.round(assessedValue * TAX_RATE_PERCENT) / 100,
  };
}

function pageOf(data: ReturnType<typeof propertyOf>): string {
  const rows = Object.entries(data).map(
    ([label, value]) => `<tr><th>${label}</th><td>${escapeHtml(String(value))}</td></tr>`,
  );
  return `<!DOCTYPE html>\n<title>Parcel ${escapeHtml(data.apn)}</title>\n<table>\n${rows.join('\n')}\n</table>\n`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
