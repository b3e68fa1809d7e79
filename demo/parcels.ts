import { apnOf } from './apn.ts';
import { type Bill, billOf } from './bills.ts';
import {
  CITIES,
  COMPANY_FORMS,
  COMPANY_WORDS,
  DIRECTIONS,
  FAR_PLACES,
  FIRST_NAMES,
  LAST_NAMES,
  STREET_KINDS,
  STREETS,
  SUBDIVISIONS,
} from './names.ts';
import { between, pick, type Random, randomOf } from './random.ts';
import { districtsOf, TAX_AREAS, TAX_YEARS, type TaxYear } from './tax-districts.ts';

export { apnOf, MOST_PARCELS, numberOf } from './apn.ts';

/** Everything the county knows of a parcel. It follows from the seed and the parcel's number alone. */
export interface Parcel {
  readonly apn: string;
  readonly owner: string;
  /** The second name on the deed. */
  readonly coOwner: string | null;
  readonly situs: { readonly street: string; readonly city: string; readonly zip: string };
  readonly mailing: readonly string[];
  readonly legal: Legal;
  readonly use: Use;
  readonly taxArea: string;
  readonly lotSquareFeet: number;
  /** Null on land without a building. */
  readonly building: { readonly yearBuilt: number; readonly squareFeet: number } | null;
  /** Oldest first, one for each tax year, as are the bills. */
  readonly values: readonly YearValue[];
  readonly districts: readonly District[];
  readonly bills: readonly Bill[];
}

export interface Legal {
  readonly subdivision: string;
  readonly lot: number;
  readonly section: string;
  readonly description: string;
}

export interface Use {
  readonly code: string;
  readonly name: string;
  /** Hundredths of a percent of the limited value that are assessed. */
  readonly ratio: number;
}

/** In whole dollars. */
export interface YearValue {
  readonly year: TaxYear;
  readonly land: number;
  readonly improvements: number;
  /** Land and improvements. */
  readonly market: number;
  readonly limited: number;
  readonly assessed: number;
}

export interface District {
  readonly code: string;
  readonly name: string;
  readonly kind: 'Primary' | 'Secondary';
  /** Ten-thousandths of a dollar per 100 dollars of assessed value, like the amounts one for each tax year. */
  readonly rates: readonly number[];
  readonly cents: readonly number[];
}

const USES: readonly [Use, ...Use[]] = [
  { code: '0131', name: 'SINGLE FAMILY RESIDENCE', ratio: 1000 },
  { code: '0141', name: 'SINGLE FAMILY RESIDENCE W/ POOL', ratio: 1000 },
  { code: '0710', name: 'CONDOMINIUM', ratio: 1000 },
  { code: '0012', name: 'VACANT LAND', ratio: 1500 },
  { code: '1710', name: 'COMMERCIAL - RETAIL', ratio: 1550 },
  { code: '9700', name: 'MUNICIPAL - EXEMPT', ratio: 0 },
];
/** How many of a hundred parcels have each use, in order. */
const USE_SHARES = [52, 22, 12, 8, 5];

const TOPIC = { kind: 1, owner: 2, place: 3, value: 4, payments: 5 };

export function parcelOf(seed: number, n: number): Parcel {
  const apn = apnOf(n);
  const use = useOf(seed, n);
  const place = randomOf(seed, n, TOPIC.place);
  const area = between(place, 0, TAX_AREAS - 1);
  const city = CITIES[area % CITIES.length] ?? CITIES[0];
  const street = streetOf(place);
  const isVacant = use.code === '0012';
  const building = isVacant ? null : { yearBuilt: between(place, 1948, 2023), squareFeet: between(place, 850, 4200) };
  const values = valuesOf(use, isVacant, randomOf(seed, n, TOPIC.value));
  const districts = districtsOf(seed, area).map(({ code, name, kind, rates }) => ({
    ...{ code, name, kind, rates },
    // Dollars times a rate per 100 dollars are cents.
    cents: values.map(({ assessed }, year) => Math.round((assessed * (rates[year] ?? 0)) / 10_000)),
  }));
  const payments = randomOf(seed, n, TOPIC.payments);
  const payer = payments() < 0.85 ? 'prompt' : 'slow';
  return {
    apn,
    ...ownerOf(seed, n),
    situs: { street, city: city.name, zip: city.zip },
    mailing: mailingOf(street, `${city.name} AZ ${city.zip}`, place),
    legal: legalOf(place),
    use,
    taxArea: `${31 + (area % 9)}${String(area).padStart(2, '0')}00`,
    lotSquareFeet: between(place, 3_500, 45_000),
    building,
    values,
    districts,
    bills: TAX_YEARS.map((year, index) =>
      billOf(
        year,
        districts.reduce((sum, { cents }) => sum + (cents[index] ?? 0), 0),
        payer,
        payments,
      ),
    ),
  };
}

/** Apart from the rest, because a search by owner looks at many. */
export function ownerOf(seed: number, n: number): { owner: string; coOwner: string | null } {
  const random = randomOf(seed, n, TOPIC.owner);
  if (useOf(seed, n).ratio === 0) return { owner: `CITY OF ${pick(random, CITIES).name}`, coOwner: null };
  const last = pick(random, LAST_NAMES);
  const kind = random();
  const first = pick(random, FIRST_NAMES);
  if (kind < 0.1) return { owner: `${pick(random, COMPANY_WORDS)} ${pick(random, COMPANY_FORMS)}`, coOwner: null };
  if (kind < 0.18) return { owner: `${last} FAMILY TRUST`, coOwner: `${last} ${first} TR` };
  if (kind < 0.6) return { owner: `${last} ${first} & ${pick(random, FIRST_NAMES)}`, coOwner: null };
  return { owner: `${last} ${first} ${pick(random, ['A', 'J', 'L', 'M', 'R'])}`, coOwner: null };
}

function useOf(seed: number, n: number): Use {
  let left = randomOf(seed, n, TOPIC.kind)() * 100;
  for (const [index, share] of USE_SHARES.entries()) {
    if (left < share) return USES[index] ?? USES[0];
    left -= share;
  }
  return USES[USES.length - 1] ?? USES[0];
}

function streetOf(random: Random): string {
  const house = between(random, 100, 29_999);
  return `${house} ${pick(random, DIRECTIONS)} ${pick(random, STREETS)} ${pick(random, STREET_KINDS)}`;
}

function mailingOf(street: string, town: string, random: Random): string[] {
  const kind = random();
  if (kind < 0.75) return [street, town];
  if (kind < 0.9) return [`PO BOX ${between(random, 10, 9_999)}`, town];
  return [streetOf(random), `SUITE ${between(random, 100, 990)}`, pick(random, FAR_PLACES)];
}

function legalOf(random: Random): Legal {
  const subdivision = `${pick(random, SUBDIVISIONS)} UNIT ${between(random, 1, 12)}`;
  const lot = between(random, 1, 480);
  const section = `${between(random, 1, 36)} ${between(random, 1, 6)}N ${between(random, 1, 5)}E`;
  const book = `MCR ${between(random, 100, 999)}-${between(random, 10, 49)}`;
  return { subdivision, lot, section, description: `LOT ${lot} ${subdivision} ${book} SEC ${section}` };
}

function valuesOf(use: Use, isVacant: boolean, random: Random): YearValue[] {
  // Some of what is vacant is a strip between others, and hardly worth anything.
  const isStrip = isVacant && random() < 0.25;
  let land = (isStrip ? between(random, 15, 60) : between(random, 250, 1_900)) * 100;
  let improvements = isVacant ? 0 : between(random, 900, 6_500) * 100;
  let limited = Math.round((land + improvements) * (0.55 + random() * 0.2));
  return TAX_YEARS.map((year) => {
    const growth = 0.97 + random() * 0.14;
    land = Math.round((land * growth) / 100) * 100;
    improvements = Math.round((improvements * growth) / 100) * 100;
    const market = land + improvements;
    // The law lets it rise by a twentieth a year, and never above the market value.
    limited = Math.min(market, Math.round(limited * 1.05));
    return { year, land, improvements, market, limited, assessed: Math.round((limited * use.ratio) / 10_000) };
  });
}
