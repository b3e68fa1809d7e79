import { renderPage } from './layout.ts';

/** The path under which the search form sends itself, and the result list its postbacks. */
export const SEARCH_PATH = '/search/CommonSearch.aspx?mode=REALPROP';

export function searchPage(hiddenFields: string, isNothingFound: boolean): Buffer {
  const nothing = isNothingFound
    ? '<p id="lblNoResults" class="error">Your search did not find any records.</p>\n<p>Check the parcel number, or search by fewer words.</p>'
    : '';
  return renderPage({
    title: 'Real Property Search',
    crumb: 'Property Search',
    main: `<form method="post" action="./CommonSearch.aspx?mode=REALPROP" id="frmMain" name="frmMain">
<div class="aspNetHidden">
${hiddenFields}
</div>
<h2>Real Property Search</h2>
${nothing}
<div class="searchPanel" id="pnlSearch">
<input type="hidden" name="hdAction" id="hdAction" value="" />
<input type="hidden" name="hdSearchType" id="hdSearchType" value="REALPROP" />
<input type="hidden" name="hdReset" id="hdReset" value="" />
<div><label for="inpParid">Parcel Number</label><input type="text" name="inpParid" id="inpParid" maxlength="30" value="" /> e.g. 101-23-045</div>
<div><label for="inpOwner">Owner Name</label><input type="text" name="inpOwner" id="inpOwner" maxlength="60" value="" /> last name first</div>
<div><label for="inpNo">House Number</label><input type="text" name="inpNo" id="inpNo" value="" disabled="disabled" /></div>
<div><label for="selSortBy">Sort by</label><select name="selSortBy" id="selSortBy"><option value="PARID" selected="selected">Parcel Number</option><option value="OWNER">Owner</option></select>
<select name="selSortDir" id="selSortDir"><option value=" asc">Ascending</option><option value=" desc">Descending</option></select></div>
<div><label for="selPageSize">Results per page</label><select name="selPageSize" id="selPageSize"><option value="15">15</option><option value="25" selected="selected">25</option></select></div>
<div><input type="checkbox" name="chkActive" id="chkActive" value="on" checked="checked" /> Active parcels only</div>
<p><input type="submit" class="button" name="btSearch" id="btSearch" value="Search" onclick="theForm.hdAction.value='Search';" />
<input type="button" class="button" name="btReset" id="btReset" value="Reset" onclick="return clearSearch();" /></p>
</div>
<div class="notice">Enter at least book and map of a parcel number (101-23), or the beginning of a name.</div>
</form>`,
  });
}
