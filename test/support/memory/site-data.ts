import type { BatchTurn } from '../../../src/domain/batch-turn.ts';
import type { CachedEntry } from '../../../src/domain/cached-page.ts';
import type { PathErrors } from '../../../src/domain/path-errors.ts';
import { servedSiteData, siteTools } from '../../../src/main/site-data.ts';
import type { RunRow } from '../../../src/ports/run-orders.ts';
import { openMemoryResultStore } from './result-store.ts';
import { openMemorySites } from './site-book.ts';
import { openMemorySiteRows } from './site-rows.ts';

/** Sites, their page cache and their failures, and what an owner serves of them. */
export function openMemorySiteData(store = openMemoryResultStore()) {
  const stores = {
    sites: openMemorySites(),
    pageRows: openMemorySiteRows<CachedEntry>(),
    errorRows: openMemorySiteRows<PathErrors>(),
    turnRows: openMemorySiteRows<BatchTurn>(),
    runRows: openMemorySiteRows<RunRow>(),
  };
  return { ...siteTools(stores, store), resultStore: store, siteData: servedSiteData(stores) };
}
