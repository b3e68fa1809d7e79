import type { Bill } from '../bills.ts';
import type { District, Parcel } from '../parcels.ts';
import { CURRENT_YEAR } from '../tax-districts.ts';
import { GLOSSARY } from './glossary.ts';
import { date, dollars, escapeHtml, percent, rate, thousands, wholeDollars } from './html.ts';
import { renderPage } from './layout.ts';

/** The profile of a parcel, about 25 KB. Without a session its bills are named, but not linked. */
export function detailPage(parcel: Parcel, linksBills: boolean): Buffer {
  const { apn, owner, situs } = parcel;
  return renderPage({
    title: `Parcel ${apn} - Alma County Assessor & Treasurer`,
    crumb: `Property Search » ${apn}`,
    main: `<h2>Property Profile</h2>
<div class="dataletHeader"><table><tr><td class="label">Parcel</td><td id="datalet_lblParid">${apn}</td><td class="label">Tax Year</td><td id="datalet_lblYear">${CURRENT_YEAR}</td></tr>
<tr><td class="label">Owner</td><td>${escapeHtml(owner)}</td><td class="label">Location</td><td>${situs.street}</td></tr></table></div>
${profile(parcel)}
${valuation(parcel)}
${taxes(parcel.districts)}
${bills(parcel.bills, linksBills)}
${payments(parcel.bills)}
${GLOSSARY}
<p class="noPrint"><a href="#" onclick="return printPage()">Print this page</a> | <a href="/search/CommonSearch.aspx?mode=REALPROP">New search</a></p>`,
  });
}

function profile({ owner, coOwner, situs, mailing, legal, use, taxArea, lotSquareFeet, building }: Parcel): string {
  return [
    section(
      'Owner',
      line('Owner', 'lblOwner', escapeHtml(owner)) +
        (coOwner === null ? '' : line('Co-Owner', 'lblCoOwner', escapeHtml(coOwner))) +
        line('Mailing Address', 'lblMailing', mailing.map(escapeHtml).join('<br />')),
    ),
    section(
      'Property',
      line('Property Address', 'lblSitus', `${situs.street}<br />${situs.city} AZ ${situs.zip}`) +
        line('City', 'lblCity', situs.city) +
        line('Zip Code', 'lblZip', situs.zip) +
        line('Property Use', 'lblUse', `${use.code} - ${escapeHtml(use.name)}`) +
        line('Tax Area', 'lblTaxArea', taxArea) +
        line('Lot Size', 'lblLotSize', `${thousands(lotSquareFeet)} sq ft`) +
        line('Living Area', 'lblLivingArea', building === null ? '' : `${thousands(building.squareFeet)} sq ft`) +
        line('Year Built', 'lblYearBuilt', building === null ? '' : String(building.yearBuilt)),
    ),
    section(
      'Legal Description',
      line('Subdivision', 'lblSubdivision', escapeHtml(legal.subdivision)) +
        line('Lot', 'lblLot', String(legal.lot)) +
        line('Section Township Range', 'lblSection', legal.section) +
        line('Description', 'lblLegal', escapeHtml(legal.description)),
    ),
  ].join('\n');
}

function valuation({ values, use }: Parcel): string {
  const current = values.at(-1);
  if (current === undefined) return '';
  const ratio = percent(use.ratio);
  const lines =
    line('Land Value', 'lblLand', wholeDollars(current.land)) +
    line('Improvement Value', 'lblImprovements', wholeDollars(current.improvements)) +
    line('Full Cash (Market) Value', 'lblMarket', wholeDollars(current.market)) +
    line('Limited Property Value', 'lblLimited', wholeDollars(current.limited)) +
    line('Assessment Ratio', 'lblRatio', ratio) +
    line('Assessed Value', 'lblAssessed', wholeDollars(current.assessed));
  let rows = '';
  for (let index = values.length - 1; index >= 0; index -= 1) {
    const value = values[index];
    if (value === undefined) continue;
    const { year, land, improvements, market, limited, assessed } = value;
    const growth = `${amount(wholeDollars(land))}${amount(wholeDollars(improvements))}${amount(wholeDollars(market))}`;
    rows += `${rowStart(index)}<td>${year}</td>${growth}${amount(wholeDollars(limited))}${amount(ratio)}${amount(wholeDollars(assessed))}</tr>\n`;
  }
  return `${section(`${CURRENT_YEAR} Valuation`, lines)}\n${VALUES}${rows}${GRID_END}`;
}

function taxes(districts: readonly District[]): string {
  let rows = '';
  let [totalRate, total, totalBefore] = [0, 0, 0];
  for (const [index, { code, name, kind, rates, cents }] of districts.entries()) {
    const [rateNow, now, before] = [rates.at(-1) ?? 0, cents.at(-1) ?? 0, cents.at(-2) ?? 0];
    totalRate += rateNow;
    total += now;
    totalBefore += before;
    rows += `${rowStart(index)}<td>${code}</td><td>${escapeHtml(name)}</td><td>${kind}</td>${amount(rate(rateNow))}${amount(dollars(before))}${amount(dollars(now))}${amount(dollars(now - before))}</tr>\n`;
  }
  const sums = [
    `<td class="number" id="datalet_lblTotalRate">${rate(totalRate)}</td>`,
    `<td class="number" id="datalet_lblTotalPrevious">${dollars(totalBefore)}</td>`,
    `<td class="number" id="datalet_lblTotalTax">${dollars(total)}</td>`,
  ].join('');
  return `${DISTRICTS}${rows}<tr class="total"><td></td><td>Total</td><td></td>${sums}<td></td></tr>\n${GRID_END}`;
}

function bills(all: readonly Bill[], linksBills: boolean): string {
  let rows = '';
  for (const [index, { year, number, totalCents, paidCents, dueCents }] of all.toReversed().entries()) {
    const name = linksBills
      ? `<a id="datalet_lnkBill${year}" href="/bills/Bill.aspx?year=${year}">${year}</a>`
      : String(year);
    rows += `${rowStart(index)}<td>${name}</td><td>${number}</td>${amount(dollars(totalCents))}${amount(dollars(paidCents))}${amount(dollars(dueCents))}<td>${dueCents === 0 ? 'PAID' : 'DUE'}</td></tr>\n`;
  }
  return `${BILLS}${rows}${GRID_END}`;
}

function payments(all: readonly Bill[]): string {
  let rows = '';
  for (const [index, { year, instalments }] of all.toReversed().entries()) {
    for (const { name, dueOn, amountCents, payment } of instalments) {
      const paid =
        payment === null ? '<td></td><td></td>' : `<td>${date(payment.paidOn)}</td><td>${payment.receipt}</td>`;
      rows += `${rowStart(index)}<td>${year}</td><td>${name}</td><td>${date(dueOn)}</td>${amount(dollars(amountCents))}${paid}${amount(dollars(payment?.amountCents ?? 0))}</tr>\n`;
    }
  }
  return `${PAYMENTS}${rows}${GRID_END}`;
}

function section(title: string, lines: string): string {
  return `<div class="datalet_div"><div class="DataletTitle">${title}</div>\n<table class="datalet" cellspacing="0">\n${lines}</table></div>`;
}

function line(label: string, id: string, html: string): string {
  return `<tr><td class="DataletSideHeading">${label}</td><td class="DataletData" id="datalet_${id}">${html}</td></tr>\n`;
}

function amount(text: string): string {
  return `<td class="number">${text}</td>`;
}

function rowStart(index: number): string {
  return index % 2 === 0 ? '<tr class="gridviewRow">' : '<tr class="gridviewAlt">';
}

const VALUES = gridStart('Valuation History', 'gvValues', [
  ...['Tax Year', '#Land', '#Improvements', '#Market Value', '#Limited Value', '#Ratio', '#Assessed Value'],
]);
const DISTRICTS = gridStart(`${CURRENT_YEAR} Taxes by District`, 'gvDistricts', [
  ...['Code', 'Tax District', 'Type', '#Rate/100', `#${CURRENT_YEAR - 1}`, `#${CURRENT_YEAR}`, '#Change'],
]);
const BILLS = gridStart('Tax Bills', 'gvBills', ['Tax Year', 'Bill Number', '#Total', '#Paid', '#Due', 'Status']);
const PAYMENTS = gridStart('Installments and Payments', 'gvPayments', [
  ...['Tax Year', 'Installment', 'Due Date', '#Amount', 'Paid On', 'Receipt', '#Paid'],
]);
const GRID_END = '</table></div>';

/** A heading that starts with # is that of a column of numbers. */
function gridStart(title: string, id: string, headings: readonly string[]): string {
  const cells = headings.map((text) =>
    text.startsWith('#') ? `<th class="number" scope="col">${text.slice(1)}</th>` : `<th scope="col">${text}</th>`,
  );
  return `<div class="datalet_div"><div class="DataletTitle">${title}</div>
<table class="grid" cellspacing="0" id="datalet_${id}">
<tr>${cells.join('')}</tr>
`;
}
