/** How long a visitor must look at the disclaimer before it can be accepted, as on Tyler's self-service sites. */
const READING_MS = 400;
/** After the last key, before the search begins. */
const TYPING_MS = 120;

/** The county's new site: a page without content, and a script that makes it. */
export function appPage(): Buffer {
  return PAGE;
}

/** Run in the browser. It has no library, and all that it shows comes from `/api`. */
const SCRIPT = `
const app = document.getElementById('app');
const hasAgreed = () => /(?:^|; )AGREED=1/.test(document.cookie);
const text = (value) => String(value).replace(/[&<>"]/g, (c) => '&#' + c.charCodeAt(0) + ';');
const ask = async (path) => {
  const answer = await fetch(path);
  if (!answer.ok && answer.status !== 404) throw new Error('HTTP ' + answer.status);
  return answer.json();
};
const fail = (error) => { app.innerHTML = '<p id="problem">Something went wrong: ' + text(error.message) + '</p>'; };

function showDisclaimer() {
  app.innerHTML = '<h2>Disclaimer</h2><p>By using this site you agree to its terms.</p>'
    + '<button id="submitDisclaimerAccept" disabled>I accept</button>';
  const button = document.getElementById('submitDisclaimerAccept');
  setTimeout(() => { button.disabled = false; }, ${READING_MS});
  button.onclick = () => { document.cookie = 'AGREED=1; path=/'; showSearch(); };
}

function showSearch() {
  app.innerHTML = '<h2>Property Search</h2><input id="searchInput" placeholder="Parcel number" autocomplete="off">'
    + '<ul id="searchResults"></ul><p id="searchStatus"></p>';
  const input = document.getElementById('searchInput');
  let timer = 0;
  let asked = 0;
  input.oninput = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const number = ++asked;
      document.getElementById('searchStatus').textContent = 'Searching…';
      const { parcels } = await ask('/api/search?starts=' + encodeURIComponent(input.value));
      // An answer that has been overtaken by a later one is not shown.
      if (number !== asked) return;
      document.getElementById('searchResults').innerHTML = parcels.map(({ apn, owner }) =>
        '<li class="ss-search-row"><a href="/app/parcel?apn=' + apn + '">' + apn + '</a> ' + text(owner) + '</li>').join('');
      document.getElementById('searchStatus').textContent =
        parcels.length === 0 ? 'No results were found matching your search criteria.' : parcels.length + ' parcels';
    }, ${TYPING_MS});
  };
  input.focus();
}

async function showParcel(apn) {
  app.innerHTML = '<p>Loading…</p>';
  const parcel = await ask('/api/parcel?apn=' + encodeURIComponent(apn));
  if (parcel.error) { app.innerHTML = '<p id="problem">' + text(parcel.error) + '</p>'; return; }
  const line = (label, id, value) => '<tr><th>' + label + '</th><td id="' + id + '">' + text(value) + '</td></tr>';
  document.title = 'Parcel ' + parcel.apn;
  app.innerHTML = '<h2>Parcel <span id="apn">' + text(parcel.apn) + '</span></h2><table id="profile"><tbody>'
    + line('Owner', 'owner', parcel.owner) + line('Address', 'address', parcel.address)
    + line('Use', 'use', parcel.use) + line('Market value', 'market', parcel.market_value)
    + line('Assessed value', 'assessed', parcel.assessed_value) + '</tbody></table>'
    + '<table id="bills"><thead><tr><th>Year</th><th>Bill</th><th>Total</th><th>Due</th></tr></thead><tbody>'
    + parcel.bills.map(({ year, number, total, due }) =>
      '<tr><td>' + year + '</td><td>' + text(number) + '</td><td>' + total + '</td><td>' + due + '</td></tr>').join('')
    + '</tbody></table><button id="billButton">Download the tax bill</button>';
  document.getElementById('billButton').onclick = () => {
    location.href = '/api/bill?apn=' + encodeURIComponent(parcel.apn) + '&year=' + parcel.bills[0].year;
  };
}

if (!hasAgreed()) showDisclaimer();
else if (location.pathname === '/app/parcel') showParcel(new URLSearchParams(location.search).get('apn')).catch(fail);
else showSearch();
`;

const PAGE = Buffer.from(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Alma County Property Search</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>Alma County Assessor &amp; Treasurer</h1>
<div id="app"><noscript>This site needs JavaScript.</noscript></div>
<script>${SCRIPT}</script>
</body>
</html>
`);
