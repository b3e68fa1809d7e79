/**
 * What saves processor time without any difference for pages (decisions 37, 45 and 52). Answers go from the network to a page
 * through one process less: a page with one script and one request took 116 ms in all processes of the browser, and 124 ms
 * otherwise. A page keeps its frame when it goes from the empty document to its first one (`RenderDocument`), bounces between
 * sites are not recorded (`DIPS`), and the storage of a context is not a database of SQLite in memory: together about 6 %.
 * Nor does a context open a store for performance observers that are declared in headers: 0.7 ms.
 */
const ALWAYS: readonly string[] = [
  '--enable-features=NetworkServiceInProcess2',
  '--disable-features=RenderDocument,DIPS,DomStorageSqlite,DomStorageSqliteInMemory,DeclarativePerformanceObserver',
];

/**
 * Drawing happens in the browser's own process, too (decision 54): 3 % of a page. In a sandbox it has a process of its own,
 * because that is locked up more tightly than the browser's; without one, both may do the same. With a window, it uses drivers
 * of the machine that may crash.
 */
const UNSANDBOXED: readonly string[] = ['--in-process-gpu'];

export function sparingArgs({ sandbox, headless }: { sandbox: boolean; headless: boolean }): readonly string[] {
  return sandbox || !headless ? ALWAYS : [...ALWAYS, ...UNSANDBOXED];
}
