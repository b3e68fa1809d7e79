/** What the WebForms county knows, and what it does when it is asked for it: all of it follows from a parcel's number. */
export interface Parcel {
  readonly parid: string;
  readonly owner: string;
  readonly mailing: readonly string[];
  readonly legal: readonly string[];
  readonly values: readonly { readonly year: number; readonly land: number; readonly improvements: number }[];
  readonly bills: readonly Bill[];
}

export interface Bill {
  readonly id: string;
  readonly year: number;
  readonly cents: number;
  /** Negative for a credit. */
  readonly balanceCents: number;
}

export type Fate =
  | 'good'
  | 'unknown'
  | 'loses its session once'
  | 'loses every session'
  | 'shows another parcel'
  | 'has a new layout'
  | 'is gone'
  | 'is broken'
  | 'is closed for maintenance'
  | 'has no bill';

const FATES: Readonly<Record<number, Fate>> = {
  3: 'unknown',
  6: 'loses its session once',
  9: 'loses every session',
  12: 'shows another parcel',
  15: 'has a new layout',
  18: 'is gone',
  21: 'has no bill',
  24: 'is broken',
  28: 'unknown',
  31: 'loses its session once',
  34: 'is closed for maintenance',
  46: 'has no bill',
};

export function fateOf(number: number): Fate {
  return FATES[number % 50] ?? 'good';
}

/** Letters that windows-1252 has and ASCII has not, and some that Latin-1 has not either. */
const OWNERS = ['PEÑA, JOSÉ', 'MUÑOZ & IBÁÑEZ LLC', 'O’BRIEN, SEÁN', 'MÜLLER, JÖRG', 'SMITH, JOHN', 'CHÂTEAU 1€ TRUST'];
const PARCELS_EACH = 3;
const FIRST_YEAR = 2023;

export function paridOf(number: number): string {
  return `R-${String(number).padStart(5, '0')}`;
}

export function numberOf(parid: string): number {
  return Number(parid.replace(/\D/g, ''));
}

export function parcelOf(number: number): Parcel {
  const parid = paridOf(number);
  const lines = <T>(from: readonly T[], count: number) => from.slice(0, count);
  return {
    parid,
    owner: ownerOf(number),
    mailing: lines([`${100 + number} CALLE PEÑASCO`, 'APT 4', 'C/O THE BANK', 'MESA AZ 85201'], 2 + (number % 3)),
    legal: lines([`LOT ${number} BLK 2`, 'PEÑASCO ESTATES', 'EXC N 25’ FOR ROAD'], 1 + (number % 3)),
    values: [0, 1, 2].map((age) => ({
      year: FIRST_YEAR + age,
      land: 10_000 + 7 * number + age,
      improvements: (number % 4) * 55_000 + age,
    })),
    bills: [0, 1].map((age) => ({
      id: `${FIRST_YEAR + age}-${parid}`,
      year: FIRST_YEAR + age,
      cents: 100_000 + 137 * number + age,
      balanceCents: number % 5 === 0 ? -1250 - age : age * 5000,
    })),
  };
}

/** Three parcels each, so that a search lists more than the one that is wanted. */
function ownerOf(number: number): string {
  const block = OWNERS.length * PARCELS_EACH;
  return `${OWNERS[number % OWNERS.length]} ${Math.floor(number / block)}`;
}

/** All that an owner has, in the county's order. */
export function parcelsOf(owner: string): readonly Parcel[] {
  const block = OWNERS.length * PARCELS_EACH;
  const first = Number(/ (\d+)$/.exec(owner)?.[1] ?? Number.NaN) * block;
  const numbers = Number.isNaN(first) ? [] : Array.from({ length: block }, (_, index) => first + index);
  return numbers.map(parcelOf).filter((parcel) => parcel.owner === owner);
}
