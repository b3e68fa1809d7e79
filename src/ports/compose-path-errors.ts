import { afterPathNews, type PagePath, type PathErrors } from '../domain/path-errors.ts';
import { listSiteRows } from './list-site-rows.ts';
import type { PathErrorBook } from './path-errors.ts';
import type { RowName, SiteRows } from './site-rows.ts';

/** The error tracker, for the process that owns the rows. */
export function composePathErrors(rows: SiteRows<PathErrors>): PathErrorBook {
  return {
    look: (pages) => rows.get(pages.map(rowName)),
    note: (news) =>
      rows.change(news.map((one) => ({ row: rowName(one.page), apply: (known) => afterPathNews(known, one) }))),

    async list(query) {
      const { rows: errors, next } = await listSiteRows(rows, query);
      return { errors, next };
    },

    removeSite: (site) => rows.removeSite(site),
  };
}

/** A row needs a name, and the path of the base page is empty. */
function rowName({ site, path }: PagePath): RowName {
  return { site, name: `${path} ` };
}
