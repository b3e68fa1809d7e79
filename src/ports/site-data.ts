import type { PageIndex } from './page-cache.ts';
import type { WorkerPathErrors } from './path-errors.ts';
import type { WorkerSites } from './site-book.ts';

/** What workers know of documentation sites through the process that has it. Contents of pages are not part of it. */
export interface WorkerSiteData {
  readonly sites: WorkerSites;
  readonly pages: PageIndex;
  readonly errors: WorkerPathErrors;
}
