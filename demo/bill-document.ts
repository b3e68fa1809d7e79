import { date, dollars, percent, rate, wholeDollars } from './pages/html.ts';
import type { Parcel } from './parcels.ts';
import { type FontName, type Mark, PAPER, writePdf } from './pdf.ts';

const MARGIN = 54;

/** The tax bill of a year as it is mailed: the bill, and two pages of small print. Null for a year without one. */
export function billDocument(parcel: Parcel, year: number): Buffer | null {
  const index = parcel.bills.findIndex((each) => each.year === year);
  const bill = parcel.bills[index];
  const value = parcel.values[index];
  if (bill === undefined || value === undefined) return null;
  const { apn, owner, situs, mailing, legal, use, districts } = parcel;
  const sheet = new Sheet();
  sheet.line('ALMA COUNTY TREASURER', 'bold', 16);
  sheet.line(`${year} REAL PROPERTY TAX BILL`, 'bold', 12);
  sheet.rule();
  sheet.pair('Parcel Number', apn);
  sheet.pair('Bill Number', bill.number);
  sheet.pair('Owner', owner);
  for (const [row, text] of mailing.entries()) sheet.pair(row === 0 ? 'Mailing Address' : '', text);
  sheet.pair('Property Address', `${situs.street}, ${situs.city} AZ ${situs.zip}`);
  sheet.pair('Legal Description', legal.description);
  sheet.pair('Property Use', `${use.code} ${use.name}`);
  sheet.rule();
  sheet.pair('Market Value', wholeDollars(value.market));
  sheet.pair('Limited Value', wholeDollars(value.limited));
  sheet.pair('Assessment Ratio', percent(use.ratio));
  sheet.pair('Assessed Value', wholeDollars(value.assessed));
  sheet.rule();
  sheet.line(row(['TAX DISTRICT', 'RATE', 'TAX']), 'fixed', 9);
  for (const { name, rates, cents } of districts) {
    sheet.line(row([name, rate(rates[index] ?? 0), dollars(cents[index] ?? 0)]), 'fixed', 9);
  }
  sheet.line(row(['TOTAL', '', dollars(bill.totalCents)]), 'fixed', 9);
  sheet.rule();
  for (const { name, dueOn, amountCents, payment } of bill.instalments) {
    const paid = payment === null ? 'not paid' : `paid ${date(payment.paidOn)}, receipt ${payment.receipt}`;
    sheet.pair(name, `${dollars(amountCents)} due ${date(dueOn)}, ${paid}`);
  }
  sheet.pair('Total Due', dollars(bill.dueCents));
  return writePdf(`Tax bill ${year} for parcel ${apn}`, [sheet, smallPrint(), smallPrint()]);
}

/** Set once for all bills, as the printer does it. */
function smallPrint(): Sheet {
  const sheet = new Sheet();
  sheet.line('IMPORTANT INFORMATION', 'bold', 12);
  for (let row = 0; row < 60; row += 1) sheet.line(SMALL_PRINT[row % SMALL_PRINT.length] ?? '', 'regular', 8);
  return sheet;
}

const SMALL_PRINT = [
  'The first half is due October 1 and is delinquent after 5 PM on November 1. The second half is due March 1 and is delinquent after 5 PM on May 1.',
  'Interest on delinquent taxes accrues at the rate of sixteen percent a year, prorated monthly as of the first day of the month.',
  'Make checks payable to the Alma County Treasurer and write the parcel number on the check. Do not send cash by mail.',
  'Failure to receive a bill does not relieve the owner of the obligation to pay, nor does it stop the accrual of interest.',
  'Questions on valuation are answered by the Assessor, questions on rates by the district that adopted them.',
];

class Sheet {
  readonly marks: Mark[] = [];
  #y = PAPER.height - MARGIN;

  line(text: string, font: FontName, size: number): void {
    this.#text(MARGIN, text, font, size);
    this.#y -= Math.round(size * 1.35);
  }

  pair(label: string, text: string): void {
    this.#text(MARGIN, label, 'bold', 9);
    this.#text(MARGIN + 120, text, 'regular', 9);
    this.#y -= 13;
  }

  rule(): void {
    this.marks.push({ kind: 'line', x: MARGIN, y: this.#y + 4, toX: PAPER.width - MARGIN, toY: this.#y + 4 });
    this.#y -= 10;
  }

  #text(x: number, text: string, font: FontName, size: number): void {
    if (text !== '') this.marks.push({ kind: 'text', x, y: this.#y, size, font, text });
  }
}

function row([name, middle, right]: readonly [string, string, string]): string {
  return `${name.padEnd(48)}${middle.padStart(12)}${right.padStart(16)}`;
}
