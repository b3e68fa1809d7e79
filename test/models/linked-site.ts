import { type ModelServer, startModel } from './model-server.ts';

/** How large the site is. */
export interface LinkedSize {
  readonly pages: number;
  readonly linksPerPage: number;
}

/** Two pages of the listing share a fifth of their links, and each has one of them twice. */
export function detailsOn(page: number, { pages, linksPerPage }: LinkedSize): readonly number[] {
  const own = Math.ceil(linksPerPage * 0.8);
  const links = Array.from({ length: linksPerPage - 1 }, (_, index) => (page * own + index) % (pages * own));
  return [...links, links[0] ?? 0];
}

export function detailCount({ pages, linksPerPage }: LinkedSize): number {
  return pages * Math.ceil(linksPerPage * 0.8);
}

/**
 * A listing whose pages lead to the next, to the one before and to the first; and details, each of which leads back to its
 * listing and to another detail.
 */
export function startLinkedSite(
  size: LinkedSize,
): Promise<ModelServer & { readonly visits: ReadonlyMap<string, number> }> {
  const visits = new Map<string, number>();
  const site = startModel('linked', ({ url }) => {
    visits.set(url.pathname, (visits.get(url.pathname) ?? 0) + 1);
    const [, kind, place = ''] = url.pathname.split('/');
    const number = Number(place);
    const links =
      kind === 'list'
        ? [
            ...detailsOn(number, size).map((detail) => `/detail/${detail}`),
            ...[number + 1, number - 1, 0].map((page) => `/list/${(page + size.pages) % size.pages}`),
          ]
        : [`/list/${number % size.pages}`, `/detail/${(number + 1) % detailCount(size)}`];
    const anchors = links.map((href) => `<li><a class="next" href="${href}">${href}</a></li>`);
    return { body: `<h1 id="title">${kind} ${number}</h1><ul>${anchors.join('')}</ul>` };
  });
  return site.then((started) => ({ ...started, visits }));
}
