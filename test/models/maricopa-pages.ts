/** Pages as the Maricopa County treasurer serves them, as far as we know them: ids, headings, two layouts, two forms. */

export interface Parcel {
  readonly apn: string;
  readonly owner: string;
  readonly year: number;
  readonly totalTax: string;
}

const PREFIX = 'cphMainContent_cphRightColumn_';
const BILL = `${PREFIX}dtlTaxBill_`;

function frame(title: string, content: string, form: string): string {
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<script src="/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3"></script>
<style>${'.panel-header h3 { font-size: 1.1em } '.repeat(60)}</style></head>
<body><form method="post" action="./" id="siteForm">${form}
<div id="siteInnerContentContainer"><div class="leftColumn"><ul><li><a href="/Parcel/Summary.aspx">Summary</a></li>
<li><a href="/Parcel/DetailedTaxStatement.aspx">Detailed Tax Statement</a></li></ul></div>
<div class="rightColumn">${content}</div></div></form>
<div id="footer">${'Maricopa County Treasurer, 301 W. Jefferson St., Phoenix AZ 85003. '.repeat(80)}</div></body></html>`;
}

export function statementPage(parcel: Parcel, ids: 'as ever' | 'renamed' = 'as ever'): string {
  const { apn, owner, year, totalTax } = parcel;
  const html = `<div class="panel-header"><h3>${String(year).padStart(4, '0')} Detailed Tax Statement for Parcel# ${apn}</h3></div>
<div id="${BILL}ParcelNASitusLegal_lblNameAddress">${owner}<br>PO BOX 4711<br />PHOENIX AZ 85001</div>
<span id="${BILL}ParcelNASitusLegal_lblSitusAddress">1234 E CAMELBACK RD&nbsp;PHOENIX 85016</span>
<span id="${BILL}lblAreaCode">011300</span>
<table class="responsive twelve"><tr><th></th><th>${year - 1}</th><th>${year}</th></tr>
<tr><td>Full Cash Value</td><td><span id="${BILL}lblPreviousYearPrimaryValue">$312,400</span></td>
<td><span id="${BILL}lblCurrentYearPrimaryValue">$325,800</span></td></tr>
<tr><td>Ratio</td><td>10.00%</td><td><span id="${BILL}lblCurrentYearPrimaryRatio">10.00%</span></td></tr>
<tr><td>Assessed</td><td>$31,240</td><td><span id="${BILL}lblCurrentYearPrimaryAssessedValue">$32,580</span></td></tr>
<tr><td>Limited</td><td></td><td><span id="${BILL}lblCurrentYearSecondaryValue">$198,450</span></td></tr></table>
${districts('gvPrimaryDistricts', year, [
  ['Maricopa County', '1.1591', '$362.10', '$377.63', '4.29%'],
  ['City of Phoenix', '1.2658', '$400.12', '$412.40', '3.07%'],
])}
${districts('gvEducationDistricts', year, [['Osborn Elementary #8', '2.0412', 'NOT TAXED', '$210.20', '']])}
${districts('gvSecondaryDistricts', year, [['Central AZ Water', '0.1400', '$43.74', '$38.62', '-11.70%']])}
<p>Total <span id="${BILL}lblGrandTotalPreviousYear">$1,102.33</span>
<span id="${BILL}lblGrandTotalCurrentYear">${totalTax}</span> <span id="${BILL}lblGrandTotalRate">6.4218</span></p>`;
  return frame('Detailed Tax Statement', ids === 'renamed' ? html.replaceAll(BILL, `${PREFIX}taxBill2_`) : html, '');
}

function districts(id: string, year: number, rows: readonly (readonly string[])[]): string {
  const head = ['Tax District', 'Rate/100', String(year - 1), String(year), 'Change'];
  const body = rows.map((row) => `<tr class="gridviewRow">${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`);
  return `<table class="responsive twelve" id="${BILL}${id}"><tr>${head.map((name) => `<th>${name}</th>`).join('')}</tr>${body.join('')}</table>`;
}

/** Assessed, paid and due, at the places 2, 4 and 6 of a table or of a list. */
export function summaryPage({ apn, totalTax }: Parcel, layout: 'table' | 'list'): string {
  const parts = ['Assessed Tax', totalTax, 'Tax Paid', '$564.80', 'Total Due', '$564.80'];
  const due =
    layout === 'table'
      ? `<table id="${PREFIX}taxDue1"><tr>${parts.map((part) => `<td>${part}</td>`).join('')}</tr></table>`
      : `<ul id="${PREFIX}taxDue2">${parts.map((part) => `<li>${part}</li>`).join('')}</ul>`;
  return frame('Tax Summary', `<div class="panel-header"><h3>Tax Summary for Parcel# ${apn}</h3></div>${due}`, '');
}

export function searchPage(viewState: string): string {
  const form = `<input type="hidden" name="__VIEWSTATE" id="__VIEWSTATE" value="${viewState}">
<input type="hidden" name="__VIEWSTATEGENERATOR" value="90059987"><input type="hidden" name="__EVENTVALIDATION" value="/wEdAAo=">
<input name="ctl00$txtParcelNumBook" type="text" maxlength="3" id="txtParcelNumBook">
<input name="ctl00$txtParcelNumMap" type="text" maxlength="2" id="txtParcelNumMap">
<input name="ctl00$txtParcelNumItem" type="text" maxlength="3" id="txtParcelNumItem">
<input name="ctl00$txtParcelNumSplit" type="text" maxlength="1" id="txtParcelNumSplit">
<input type="submit" name="ctl00$btnGo" value="Go" id="btnGo">`;
  return frame('Maricopa County Treasurer', '<h1>Search by parcel number</h1>', form);
}

export const NOTHING_FOUND = frame('Tax Summary', '<h3>No records found</h3>', '');

export const STALE_STATE = `<html><head><title>Validation of viewstate MAC failed.</title></head><body><h1>Server Error in '/' Application.</h1>
<h2>Validation of viewstate MAC failed. If this application is hosted by a Web Farm or cluster …</h2></body></html>`;

export const BLOCKED_BEHIND_200 = `<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"></head><body style="margin:0px;height:100%">
<iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31&xinfo=4-5872" frameborder=0 width="100%" height="100%">
Request unsuccessful. Incapsula incident ID: 1234000770135-24</iframe></body></html>`;

export const CHALLENGE = `<!DOCTYPE html><html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={};</script></body></html>`;

export const MAINTENANCE = `<html><head><title>Maricopa County Treasurer</title></head><body><h1>We are currently conducting maintenance</h1>
<p>Please come back later.</p></body></html>`;
