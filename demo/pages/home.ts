import { renderPage } from './layout.ts';

export function homePage(parcels: number): Buffer {
  return renderPage({
    title: 'Alma County Assessor & Treasurer',
    crumb: 'Welcome',
    main: `<h2>Welcome</h2>
<p>Look up the ownership, the valuation and the taxes of ${parcels} parcels of real property.</p>
<p><a id="lnkSearch" class="button" href="/search/CommonSearch.aspx?mode=REALPROP">Search real property</a></p>
<div class="notice">Second half 2025 taxes are due March 1 and become delinquent after 5 PM on May 1.</div>
<h3>News</h3>
<ul>
<li>Notices of value for tax year 2026 were mailed to all owners.</li>
<li>The tax lien sale is held online. Registration opens in January.</li>
<li>Payments by e-check are free of charge.</li>
</ul>
<p><a href="/parcels.csv">Download the list of parcels</a></p>`,
  });
}
