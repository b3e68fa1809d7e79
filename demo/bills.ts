import { between, type Random } from './random.ts';
import type { TaxYear } from './tax-districts.ts';

/** Amounts are whole cents, so that sums are exact. */
export interface Bill {
  readonly year: TaxYear;
  readonly number: string;
  readonly totalCents: number;
  /** Add up to the total. */
  readonly instalments: readonly Instalment[];
  readonly paidCents: number;
  /** What was not paid of the total. */
  readonly dueCents: number;
}

export interface Instalment {
  readonly name: 'First Half' | 'Second Half' | 'Full Year';
  /** YYYY-MM-DD. */
  readonly dueOn: string;
  readonly amountCents: number;
  readonly payment: Payment | null;
}

export interface Payment {
  readonly paidOn: string;
  readonly receipt: string;
  readonly amountCents: number;
}

/** The last day of a payment in this county. */
const TODAY = '2026-02-20';

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2021, 0, 1);
/** Every day on which something can have been paid, written out: a date made for each payment took a third of a page. */
const DAYS = Array.from({ length: 2000 }, (_, day) => new Date(FIRST_DAY + day * DAY_MS).toISOString().slice(0, 10));

/** Below this, a bill is due in one piece. */
const SMALL_BILL_CENTS = 100_00;

export function billOf(year: TaxYear, totalCents: number, payer: 'prompt' | 'slow', random: Random): Bill {
  const half = Math.ceil(totalCents / 2);
  const parts =
    totalCents <= SMALL_BILL_CENTS
      ? [{ name: 'Full Year', dueOn: `${year}-12-31`, amountCents: totalCents } as const]
      : ([
          { name: 'First Half', dueOn: `${year}-10-01`, amountCents: half },
          { name: 'Second Half', dueOn: `${year + 1}-03-01`, amountCents: totalCents - half },
        ] as const);
  const number = `${year}${between(random, 1_000_000, 9_999_999)}`;
  const instalments = parts.map((part) => ({ ...part, payment: paymentOf(part, payer, random) }));
  const paidCents = instalments.reduce((sum, { payment }) => sum + (payment?.amountCents ?? 0), 0);
  return { year, number, totalCents, instalments, paidCents, dueCents: totalCents - paidCents };
}

function paymentOf(
  part: { readonly dueOn: string; readonly amountCents: number },
  payer: 'prompt' | 'slow',
  random: Random,
): Payment | null {
  const [lateDays, receipt] = [
    between(random, -25, payer === 'prompt' ? 0 : 200),
    between(random, 10_000_000, 99_999_999),
  ];
  if (part.amountCents === 0) return null;
  const due = Date.UTC(Number(part.dueOn.slice(0, 4)), Number(part.dueOn.slice(5, 7)) - 1, Number(part.dueOn.slice(8)));
  const paidOn = DAYS[Math.round((due - FIRST_DAY) / DAY_MS) + lateDays];
  return paidOn === undefined || paidOn > TODAY
    ? null
    : { paidOn, receipt: `R${receipt}`, amountCents: part.amountCents };
}
