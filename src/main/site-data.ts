import type { CachedEntry } from '../domain/cached-page.ts';
import type { PathErrors } from '../domain/path-errors.ts';
import { composePageCache, composePageIndex, composeWorkerPageCache } from '../ports/compose-page-cache.ts';
import { composePathErrors } from '../ports/compose-path-errors.ts';
import type { PageCache, WorkerPageCache } from '../ports/page-cache.ts';
import type { PathErrorBook, WorkerPathErrors } from '../ports/path-errors.ts';
import type { ResultStore } from '../ports/result-store.ts';
import type { SiteBook, WorkerSites } from '../ports/site-book.ts';
import type { WorkerSiteData } from '../ports/site-data.ts';
import type { SiteRows } from '../ports/site-rows.ts';
import { digest } from './digest.ts';

/** A controller's access to documentation sites. */
export interface SiteTools {
  readonly sites: SiteBook;
  readonly pageCache: PageCache;
  readonly pathErrors: PathErrorBook;
}

/** A worker's access to them. */
export interface WorkerSiteTools {
  readonly sites: WorkerSites;
  readonly pageCache: WorkerPageCache;
  readonly pathErrors: WorkerPathErrors;
}

interface SiteStores {
  readonly sites: SiteBook;
  readonly pageRows: SiteRows<CachedEntry>;
  readonly errorRows: SiteRows<PathErrors>;
}

export function siteTools({ sites, pageRows, errorRows }: SiteStores, store: ResultStore): SiteTools {
  return {
    sites,
    pageCache: composePageCache({ rows: pageRows, store, digest }),
    pathErrors: composePathErrors(errorRows),
  };
}

/** What the owner of the rows serves to its workers. */
export function servedSiteData({ sites, pageRows, errorRows }: SiteStores): WorkerSiteData {
  return { sites, pages: composePageIndex(pageRows), errors: composePathErrors(errorRows) };
}

/** The tools of a worker that reaches the rows through their owner. */
export function workerSiteTools({ sites, pages, errors }: WorkerSiteData, store: ResultStore): WorkerSiteTools {
  return { sites, pageCache: composeWorkerPageCache({ index: pages, store, digest }), pathErrors: errors };
}
