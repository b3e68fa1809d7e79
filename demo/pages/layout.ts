import { escapeHtml } from './html.ts';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';

/**
 * A page of the county: what is the same in all of them is encoded once. A view of it is `title`, `crumb` and `main`,
 * and they are encoded as one text, because an encoder called once is faster than one called three times.
 */
export interface View {
  readonly title: string;
  readonly crumb: string;
  /** HTML of the middle of the page. */
  readonly main: string;
}

export function renderPage({ title, crumb, main }: View): Buffer {
  const middle = `${escapeHtml(title)}${AFTER_TITLE}${escapeHtml(crumb)}${AFTER_CRUMB}${main}`;
  const length = Buffer.byteLength(middle);
  const page = Buffer.allocUnsafe(BEFORE.length + length + AFTER.length);
  BEFORE.copy(page, 0);
  page.write(middle, BEFORE.length);
  AFTER.copy(page, BEFORE.length + length);
  return page;
}

/** The style sheet comes before the title, so that it can be part of what is encoded once. */
const BEFORE = Buffer.from(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="X-UA-Compatible" content="IE=edge">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="Alma County Assessor and Treasurer: property search, assessed values, tax bills and payments">
<link rel="shortcut icon" href="/favicon.ico">
<style type="text/css">${STYLE}</style>
<title>`);

const AFTER_TITLE = `</title>
</head>
<body>
<a class="skip" href="#mainColumn">Skip to main content</a>
<div id="pageWrapper">
<div id="siteHeader">
  <div class="seal" title="Seal of Alma County"></div>
  <div class="quick"><a href="#" onclick="setTextSize(13)">A</a><a href="#" onclick="setTextSize(16)">A+</a><a href="#" onclick="return printPage()">Print</a></div>
  <h1>Alma County Assessor &amp; Treasurer</h1>
  <div class="tagline">Serving the residents of Alma County since 1889</div>
</div>
<ul id="topNav">
  <li><a href="/">Home</a></li>
  <li><a href="/search/CommonSearch.aspx?mode=REALPROP">Property Search</a>
    <ul><li><a href="/search/CommonSearch.aspx?mode=REALPROP">By Parcel Number</a></li><li><a href="/search/CommonSearch.aspx?mode=OWNER">By Owner</a></li></ul></li>
  <li><a href="#">Treasurer</a><ul><li><a href="#">Pay Taxes</a></li><li><a href="#">Due Dates</a></li><li><a href="#">Tax Lien Sale</a></li></ul></li>
  <li><a href="#">Assessor</a><ul><li><a href="#">Exemptions</a></li><li><a href="#">Appeals</a></li><li><a href="#">Forms</a></li></ul></li>
  <li><a href="#">Maps</a></li><li><a href="#">Contact</a></li>
</ul>
<div id="breadcrumb"><a href="/">Home</a> &raquo; `;

const AFTER_CRUMB = `</div>
<div id="columns">
<div id="leftColumn">
  <div class="sideBox"><h4>Quick Links</h4><ul><li><a href="/search/CommonSearch.aspx?mode=REALPROP">Property search</a></li><li><a href="#">Pay online</a></li>
  <li><a href="#">Change of address</a></li><li><a href="#">Senior valuation protection</a></li><li><a href="#">Request a copy</a></li></ul></div>
  <div class="sideBox"><h4>Important Dates</h4><ul><li>Oct 1: first half due</li><li>Nov 1: first half delinquent after 5 PM</li><li>Mar 1: second half due</li>
  <li>May 1: second half delinquent after 5 PM</li></ul></div>
  <div class="sideBox"><h4>Office Hours</h4><ul><li>Monday to Friday, 8 AM to 5 PM</li><li>301 W Courthouse Sq, Port Alma</li><li>(555) 010-0199</li></ul></div>
</div>
<div id="mainColumn">
`;

const AFTER = Buffer.from(`
</div>
<div class="clear"></div>
</div>
<div id="siteFooter">
  <div class="col"><b>Alma County</b><ul><li>301 W Courthouse Sq</li><li>Port Alma</li><li>(555) 010-0100</li></ul></div>
  <div class="col"><b>Departments</b><ul><li><a href="#">Assessor</a></li><li><a href="#">Treasurer</a></li><li><a href="#">Recorder</a></li><li><a href="#">Elections</a></li></ul></div>
  <div class="col"><b>Help</b><ul><li><a href="#">Frequently asked questions</a></li><li><a href="#">Accessibility</a></li><li><a href="#">Site map</a></li></ul></div>
  <div class="col"><b>Legal</b><ul><li><a href="#">Privacy</a></li><li><a href="#">Terms of use</a></li><li><a href="#">Public records</a></li></ul></div>
  <div class="clear"></div>
  <p>The information on this site is provided as a public service. Alma County makes no warranty of its accuracy and accepts no liability for its use.
  Values shown are those of the last certified roll and may change. Data was last updated on February 20, 2026.</p>
</div>
</div>
<div id="sessionWarning" style="display:none" class="notice">Your session is about to end.</div>
<script type="text/javascript">${SCRIPT}</script>
</body>
</html>
`);
