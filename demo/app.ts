import { type Answer, jsonAnswer, pdfAnswer } from './answer.ts';
import { numberOf, startingWith } from './apn.ts';
import { billDocument } from './bill-document.ts';
import { dollars, wholeDollars } from './pages/html.ts';
import { type Parcel, parcelOf } from './parcels.ts';
import { readCookies } from './sessions.ts';
import { CURRENT_YEAR } from './tax-districts.ts';

const MOST_ROWS = 10;

interface AppRequest {
  readonly path: string;
  readonly query: string;
  readonly cookie: string | undefined;
}

/** What the script of the county's new site asks for. Its pages have nothing else to show. */
export function answerApp(
  { path, query, cookie }: AppRequest,
  { seed, parcels, isNeighbour }: { readonly seed: number; readonly parcels: number; readonly isNeighbour: boolean },
): Answer {
  if (readCookies(cookie).get('AGREED') !== '1') return jsonAnswer(403, { error: 'accept the disclaimer first' });
  const asked = new URLSearchParams(query);
  if (path === '/api/search') {
    const found = startingWith(asked.get('starts') ?? '', parcels, MOST_ROWS).map((n) => parcelOf(seed, n));
    return jsonAnswer(200, { parcels: found.map(({ apn, owner }) => ({ apn, owner })) });
  }
  const n = numberOf(asked.get('apn') ?? '');
  if (n === null || n >= parcels) return jsonAnswer(404, { error: 'Parcel Number not found' });
  const parcel = parcelOf(seed, isNeighbour ? Math.abs(n - 1) : n);
  if (path === '/api/parcel') return jsonAnswer(200, profileOf(parcel));
  if (path !== '/api/bill') return jsonAnswer(404, { error: 'there is no such thing' });
  const year = Number(asked.get('year') ?? CURRENT_YEAR);
  const document = billDocument(parcel, year);
  if (document === null) return jsonAnswer(404, { error: 'there is no such bill' });
  return pdfAnswer(`${parcel.apn}-${year}.pdf`, document);
}

function profileOf({ apn, owner, situs, use, values, bills }: Parcel) {
  const current = values.at(-1);
  return {
    apn,
    owner,
    address: `${situs.street}, ${situs.city} AZ ${situs.zip}`,
    use: `${use.code} - ${use.name}`,
    market_value: wholeDollars(current?.market ?? 0),
    assessed_value: wholeDollars(current?.assessed ?? 0),
    bills: bills.toReversed().map(({ year, number, totalCents, dueCents }) => {
      return { year, number, total: dollars(totalCents), due: dollars(dueCents) };
    }),
  };
}
