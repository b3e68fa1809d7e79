import type { BatchTurns } from './batch-turns.ts';
import type { PageIndex } from './page-cache.ts';
import type { WorkerPathErrors } from './path-errors.ts';
import type { WorkerSites } from './site-book.ts';

/**
 * What workers know about documentation sites through the process that owns the data. Contents of pages are not
 * included.
 */
export interface WorkerSiteData {
  readonly sites: WorkerSites;
  readonly pages: PageIndex;
  readonly errors: WorkerPathErrors;
  readonly turns: BatchTurns;
}
