import { CITIES } from './names.ts';
import { between, randomOf } from './random.ts';

export const TAX_YEARS = [2021, 2022, 2023, 2024, 2025] as const;
export type TaxYear = (typeof TAX_YEARS)[number];
export const CURRENT_YEAR = 2025 satisfies TaxYear;

export interface DistrictRates {
  readonly code: string;
  readonly name: string;
  readonly kind: 'Primary' | 'Secondary';
  /** Per 100 dollars of assessed value, in ten-thousandths of a dollar, one for each of TAX_YEARS. */
  readonly rates: readonly number[];
}

export const TAX_AREAS = 48;

/** Rates are few and every parcel asks for them: those of the last counties are kept, by seed and area. */
const known = new Map<string, readonly DistrictRates[]>();
const MOST_KNOWN = 8 * TAX_AREAS;

/** What is levied in a tax area. A parcel's tax is the sum over these, in every year. */
export function districtsOf(seed: number, area: number): readonly DistrictRates[] {
  const key = `${seed}/${area}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size >= MOST_KNOWN) known.clear();
  const made = makeDistricts(seed, area);
  known.set(key, made);
  return made;
}

function makeDistricts(seed: number, area: number): readonly DistrictRates[] {
  const city = CITIES[area % CITIES.length] ?? CITIES[0];
  const school = 1 + (area % 17);
  const everywhere: DistrictRates[] = [
    district(seed, '02000', 'ALMA COUNTY GENERAL FUND', 'Primary', 13_000),
    district(seed, '05000', 'STATE EQUALIZATION ASSISTANCE', 'Primary', 4_500),
    district(seed, '08150', 'ALMA COMMUNITY COLLEGE', 'Primary', 11_500),
    district(seed, `073${pad(school)}`, `${city.name} UNIFIED SCHOOL DIST NO ${school}`, 'Primary', 31_000),
    district(seed, `041${pad(area % CITIES.length)}`, `CITY OF ${city.name}`, 'Primary', 9_800),
    district(seed, `074${pad(school)}`, `SCHOOL DIST NO ${school} BONDS & OVERRIDES`, 'Secondary', 16_400),
    district(seed, '11900', 'ALMA COUNTY FLOOD CONTROL DIST', 'Secondary', 1_600),
    district(seed, '14900', 'ALMA COUNTY LIBRARY DISTRICT', 'Secondary', 500),
    district(seed, '15000', 'CENTRAL WATER CONSERVATION DIST', 'Secondary', 1_400),
  ];
  if (area % 3 === 0)
    everywhere.push(district(seed, `120${pad(area)}`, 'FIRE DISTRICT ASSISTANCE', 'Secondary', 7_500));
  if (area % 5 === 0)
    everywhere.push(district(seed, `130${pad(area)}`, 'STREET LIGHTING IMPROVEMENT', 'Secondary', 2_200));
  return everywhere;
}

function district(seed: number, code: string, name: string, kind: DistrictRates['kind'], usual: number): DistrictRates {
  const random = randomOf(seed, Number(code), 7);
  const rates: number[] = [];
  let rate = between(random, Math.round(usual * 0.8), Math.round(usual * 1.2));
  for (const _ of TAX_YEARS) {
    rates.push(rate);
    rate = Math.round(rate * (0.95 + random() * 0.08));
  }
  return { code, name, kind, rates };
}

function pad(number: number): string {
  return String(number).padStart(2, '0');
}
