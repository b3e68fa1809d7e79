import type { Parcel } from '../parcels.ts';
import { escapeHtml, wholeDollars } from './html.ts';
import { renderPage } from './layout.ts';

/** The list of what was found. Its links are postbacks: only the session knows which parcel a row refers to. */
export function resultsPage(parcels: readonly Parcel[], hiddenFields: string): Buffer {
  return renderPage({
    title: 'Search Results',
    crumb: 'Property Search » Results',
    main: `<form method="post" action="./CommonSearch.aspx?mode=REALPROP" id="frmMain" name="frmMain">
<div class="aspNetHidden">
${hiddenFields}
</div>
<h2>Search Results</h2>
<div class="pager">Displaying 1 - ${parcels.length} of ${parcels.length}</div>
<table id="searchResults" class="grid" cellspacing="0">
<tr class="SearchResultsHeader"><th>Parcel Number</th><th>Owner</th><th>Property Address</th><th>Use</th><th class="number">Market Value</th></tr>
${parcels.map(row).join('\n')}
</table>
<input type="hidden" name="hdAction" id="hdAction" value="" />
<p><a href="/search/CommonSearch.aspx?mode=REALPROP">New search</a></p>
</form>`,
  });
}

function row({ apn, owner, situs, use, values }: Parcel, index: number): string {
  const control = `ctl00$cphMain$gvResults$ctl${String(index + 2).padStart(2, '0')}$lnkSelect`;
  return `<tr class="SearchResults" onclick="selectSearchRow('../Datalets/Datalet.aspx?sIndex=1&amp;idx=${index + 1}')">
<td><a id="${control.replaceAll('$', '_')}" href="javascript:__doPostBack('${control}','${index}')">${apn}</a></td>
<td>${escapeHtml(owner)}</td><td>${situs.street}, ${situs.city}</td><td>${escapeHtml(use.name)}</td><td class="number">${wholeDollars(values.at(-1)?.market ?? 0)}</td></tr>`;
}
