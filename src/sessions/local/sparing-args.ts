/**
 * What saves processor time without any difference for pages (decisions 37, 45 and 52). Answers go from the network to a page
 * through one process less: a page with one script and one request took 116 ms in all processes of the browser, and 124 ms
 * otherwise. A page keeps its frame when it goes from the empty document to its first one (`RenderDocument`), bounces between
 * sites are not recorded (`DIPS`), and the storage of a context is not a database of SQLite in memory: together about 6 %.
 * Nor does a context open a store for performance observers that are declared in headers: 0.7 ms.
 */
export const SPARING_ARGS: readonly string[] = [
  '--enable-features=NetworkServiceInProcess2',
  '--disable-features=RenderDocument,DIPS,DomStorageSqlite,DomStorageSqliteInMemory,DeclarativePerformanceObserver',
];
