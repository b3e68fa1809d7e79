import type { FailureType } from '../../src/domain/failure.ts';
import { type ModelReply, type ModelServer, startModel } from './model-server.ts';

const ROWS_PER_PAGE = 10;

export interface Detail {
  readonly apn: string;
  readonly owner: string;
  readonly tax: number;
}

/** The parcels of a district: from one page of the listing to three. */
export function detailsOf(district: number): readonly Detail[] {
  return Array.from({ length: 1 + ((district * 7) % 25) }, (_, index) => ({
    apn: `${district}-${index + 1}`,
    owner: `Ann & Bob <${district}/${index}>`,
    tax: district + index / 100,
  }));
}

/** How an item must end; null for success. */
export function expectedFailure(district: number): FailureType | null {
  if (district % 12 === 5) return 'navigation_failed';
  if (district % 15 === 8) return 'no_results';
  if (district % 20 === 9) return 'not_found';
  if (district % 30 === 14) return 'structure_changed';
  return null;
}

/** A listing over several pages, with a page for each parcel. */
export async function startListingSite(seed: string): Promise<ModelServer> {
  return startModel(seed, ({ url }) => {
    const [, what, place = ''] = url.pathname.split('/');
    if (what === 'district') return listing(Number(place), Number(url.searchParams.get('page') ?? 1));
    const district = Number(place.split('-')[0]);
    const index = Number(place.split('-')[1]) - 1;
    const detail = what === 'parcel' ? detailsOf(district)[index] : undefined;
    const isLost = index === 0 && expectedFailure(district) === 'not_found';
    if (detail === undefined || isLost) return { status: 404, body: '<h1>Not found</h1>' };
    return { body: detailPage(detail, index === 0 && expectedFailure(district) === 'structure_changed') };
  });
}

function listing(district: number, page: number): ModelReply {
  const failure = expectedFailure(district);
  if (failure === 'no_results') return { body: '<h1>Search results</h1><p>No records found.</p>' };
  const all = detailsOf(district);
  const first = (page - 1) * ROWS_PER_PAGE;
  const rows = all.slice(first, first + ROWS_PER_PAGE).map(({ apn }) => {
    return `<tr class="parcel"><td class="apn">${apn}</td><td><a href="/parcel/${apn}">Details</a></td></tr>`;
  });
  const hasMore = first + ROWS_PER_PAGE < all.length;
  const next = hasMore ? `<a rel="next" href="?page=${page + 1}">Next</a>` : '';
  const total = failure === 'navigation_failed' ? all.length + 1 : all.length;
  return {
    body: `<h1>Search results</h1><p><b id="total">${total}</b> parcels</p><table id="results">${rows.join('')}</table>${next}`,
  };
}

function detailPage({ apn, owner, tax }: Detail, isChanged: boolean): string {
  const name = owner.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const ownerCell = isChanged ? '' : `<p id="owner">${name}</p>`;
  return `<h1>Parcel <span id="apn">${apn}</span></h1>${ownerCell}<p id="tax">$${tax.toFixed(2)}</p>`;
}
