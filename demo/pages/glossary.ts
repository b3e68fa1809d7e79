/** What the words on a parcel's page mean: the same on every one of them. */
export const GLOSSARY = `<div class="datalet_div" id="pnlGlossary"><div class="DataletTitle">Explanation of Terms</div>
<table class="datalet" cellspacing="0">
<tr><td class="DataletSideHeading">Full Cash Value</td><td class="DataletData">The value determined by the Assessor by mass appraisal as of the valuation date. It is synonymous with market value and is the basis of levies for bonds and budget overrides.</td></tr>
<tr><td class="DataletSideHeading">Limited Property Value</td><td class="DataletData">The value on which primary taxes are levied. It rises by no more than five percent a year and is never above the full cash value of the same year.</td></tr>
<tr><td class="DataletSideHeading">Assessment Ratio</td><td class="DataletData">The share of the limited property value that is assessed. It is set by statute for each legal class: 10% for residences, 15% for vacant land, 15.5% for commercial property.</td></tr>
<tr><td class="DataletSideHeading">Rate</td><td class="DataletData">Dollars of tax per one hundred dollars of assessed value, adopted by the governing board of each district in the third week of August.</td></tr>
<tr><td class="DataletSideHeading">First Half</td><td class="DataletData">Due October 1 and delinquent after 5 PM on November 1. A bill of one hundred dollars or less is due in full by December 31.</td></tr>
<tr><td class="DataletSideHeading">Second Half</td><td class="DataletData">Due March 1 of the following year and delinquent after 5 PM on May 1. Interest on delinquent taxes accrues at 16% a year, prorated monthly.</td></tr>
<tr><td class="DataletSideHeading">Tax Area</td><td class="DataletData">The code of the combination of districts that levy taxes on a parcel. Parcels of one tax area pay the same rates.</td></tr>
<tr><td class="DataletSideHeading">Exempt</td><td class="DataletData">Property of the state, of counties and of municipalities is not taxed. Widowed and disabled persons, and certain veterans, may apply for an exemption between January 1 and March 1.</td></tr>
<tr><td class="DataletSideHeading">Parcel Number</td><td class="DataletData">Book, map and item of the Assessor's maps. A letter at the end marks a parcel that was split from another. Numbers change when parcels are split or combined; the former number is then retired and its page says so.</td></tr>
<tr><td class="DataletSideHeading">Appeals</td><td class="DataletData">A petition for review of the valuation may be filed within sixty days of the date on the notice of value. Forms are available at the office and are mailed on request. An appeal does not extend the time for payment.</td></tr>
</table></div>`;
