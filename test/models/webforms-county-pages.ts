import type { Parcel } from './webforms-county-parcels.ts';

/** Pages of the WebForms county: short, in windows-1252, and with a footer below each form that has misled scrapers before. */
export function disclaimerPage(state: string): string {
  return page(
    'Disclaimer',
    `<p>No records found on this site may be used as evidence of title.</p>
<input type="submit" name="btnAgree" value="I Agree" id="btnAgree" />`,
    { action: 'Disclaimer.aspx', state },
  );
}

export function searchPage(state: string, notice = ''): string {
  return page(
    'Parcel Search',
    `${notice}<label for="txtOwner">Owner</label> <input name="txtOwner" type="text" id="txtOwner" />
<label for="txtParid">Parcel</label> <input name="txtParid" type="text" id="txtParid" />
<input type="submit" name="btnSearch" value="Search" id="btnSearch" />`,
    { action: 'Search.aspx', state },
  );
}

export const NOTHING_FOUND = '<p class="notice">Your search returned no parcels.</p>';

export function listPage(state: string, parcels: readonly Parcel[]): string {
  const rows = parcels.map(
    ({ parid, owner }, row) => `<tr data-parid="${parid}"><td><a id="gvParcels_lnk_${row}"
 href="javascript:__doPostBack(&#39;gvParcels&#39;,&#39;Select$${row}&#39;)">${parid}</a></td><td>${html(owner)}</td></tr>`,
  );
  return page('Results', `<table id="gvParcels"><tr><th>Parcel</th><th>Owner</th></tr>${rows.join('')}</table>`, {
    action: 'Search.aspx',
    state,
  });
}

/** Second lines have no label, as in most counties. */
export function detailPage(parcel: Parcel, layout: 'old' | 'new'): string {
  const { parid, owner, mailing, legal, values, bills } = parcel;
  const lines = (label: string, texts: readonly string[]) =>
    texts.map((text, row) => `<tr><td>${row === 0 ? `${label}:` : '&nbsp;'}</td><td>${html(text)}</td></tr>`).join('');
  const facts = [lines('Parcel', [parid]), lines('Owner', [owner])];
  const table = (id: string, heads: readonly string[], rows: readonly string[]) =>
    `<table id="${id}"><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr>${rows.join('')}</table>`;
  const worth = values.map(
    ({ year, land, improvements }) =>
      `<tr><td>${year}<td>${dollars(100 * land)}<td>${dollars(100 * improvements)}</tr>`,
  );
  const owed = bills.map(
    ({ id, year, cents, balanceCents }) =>
      `<tr data-bill="${id}"><td><a href="Bill.aspx?id=${id}">${year}</a><td>${dollars(cents)}<td>${dollars(balanceCents)}</tr>`,
  );
  return page(
    'Parcel',
    `<h2>Parcel Detail</h2><table id="${layout === 'old' ? 'tblFacts' : 'tblFacts2'}">${facts.join('')}
${lines('Mailing Address', mailing)}${lines('Legal Description', legal)}</table>
${table('gvValues', ['Year', 'Land', 'Improvements'], worth)}${table('gvBills', ['Year', 'Amount', 'Balance'], owed)}`,
    null,
  );
}

export function noBillPage(): string {
  return page('Bill', '<p>This bill is not available online.</p>', null);
}

export function closedPage(): string {
  return page('Parcel', '<p>This site is undergoing maintenance.</p>', null);
}

export const STALE_STATE = '<title>Validation of viewstate MAC failed.</title><h1>Server Error in / Application.</h1>';

interface FormFacts {
  readonly action: string;
  readonly state: string;
}

function page(title: string, content: string, form: FormFacts | null): string {
  const body =
    form === null
      ? content
      : `<form method="post" action="./${form.action}" id="form1"><input type="hidden" name="__EVENTTARGET" value="" />
<input type="hidden" name="__VIEWSTATE" value="${form.state}" />${content}</form>
<p>Map layers are unavailable during scheduled maintenance.</p>`;
  return `<html><head><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1" /><title>${title}</title></head>
<body>${body}<div id="footer">© Peñasco County</div></body></html>`;
}

/** A credit has its minus at the end, or is in brackets: the county has two programs. */
function dollars(cents: number): string {
  const text = (Math.abs(cents) / 100).toLocaleString('en-US', { minimumFractionDigits: 2 });
  if (cents >= 0) return `$${text}`;
  return cents % 2 === 0 ? `$${text}-` : `($${text})`;
}

function html(text: string): string {
  return text.replaceAll('&', '&amp;');
}
