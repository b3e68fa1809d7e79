import type { BatchTurn } from '../domain/batch-turn.ts';
import type { CachedEntry } from '../domain/cached-page.ts';
import type { PathErrors } from '../domain/path-errors.ts';
import { type BatchTurns, composeBatchTurns } from '../ports/batch-turns.ts';
import { composePageCache, composePageIndex, composeWorkerPageCache } from '../ports/compose-page-cache.ts';
import { composePathErrors } from '../ports/compose-path-errors.ts';
import type { PageCache, WorkerPageCache } from '../ports/page-cache.ts';
import type { PathErrorBook, WorkerPathErrors } from '../ports/path-errors.ts';
import type { ResultStore } from '../ports/result-store.ts';
import { composeRunOrders, type RunOrders, type RunRow } from '../ports/run-orders.ts';
import type { SiteBook, WorkerSites } from '../ports/site-book.ts';
import type { WorkerSiteData } from '../ports/site-data.ts';
import type { SiteRows } from '../ports/site-rows.ts';
import { digest } from './digest.ts';
import { pagePacking } from './page-packing.ts';

/** A controller's access to documentation sites, and to what else is kept in rows. */
export interface SiteTools {
  readonly sites: SiteBook;
  readonly pageCache: PageCache;
  readonly pathErrors: PathErrorBook;
  readonly batchTurns: BatchTurns;
  readonly runOrders: RunOrders;
}

/** A worker's access to them. */
export interface WorkerSiteTools {
  readonly sites: WorkerSites;
  readonly pageCache: WorkerPageCache;
  readonly pathErrors: WorkerPathErrors;
  readonly batchTurns: BatchTurns;
}

interface SiteStores {
  readonly sites: SiteBook;
  readonly pageRows: SiteRows<CachedEntry>;
  readonly errorRows: SiteRows<PathErrors>;
  readonly turnRows: SiteRows<BatchTurn>;
  readonly runRows: SiteRows<RunRow>;
}

export function siteTools(stores: SiteStores, store: ResultStore): SiteTools {
  const { sites, pageRows, errorRows, turnRows, runRows } = stores;
  return {
    sites,
    pageCache: composePageCache({ rows: pageRows, store, digest, packing: pagePacking }),
    pathErrors: composePathErrors(errorRows),
    batchTurns: composeBatchTurns(turnRows),
    runOrders: composeRunOrders(runRows),
  };
}

/** What the owner of the rows serves to its workers. */
export function servedSiteData({ sites, pageRows, errorRows, turnRows }: Omit<SiteStores, 'runRows'>): WorkerSiteData {
  return {
    ...{ sites, pages: composePageIndex(pageRows), errors: composePathErrors(errorRows) },
    turns: composeBatchTurns(turnRows),
  };
}

/** The tools of a worker that reaches the rows through their owner. */
export function workerSiteTools({ sites, pages, errors, turns }: WorkerSiteData, store: ResultStore): WorkerSiteTools {
  const pageCache = composeWorkerPageCache({ index: pages, store, digest, packing: pagePacking });
  return { sites, pageCache, pathErrors: errors, batchTurns: turns };
}
