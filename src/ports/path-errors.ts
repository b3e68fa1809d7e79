import type { PagePath, PathErrors, PathNews } from '../domain/path-errors.ts';
import type { ListPlace } from './page-cache.ts';

/**
 * Pages of documentation sites that failed, across all jobs. After three failures, `isKnownBad` of the domain makes
 * callers leave a page alone for a day.
 * This is the part that workers use.
 */
export interface WorkerPathErrors {
  /** In the order of the pages; null for those without failures. */
  look(pages: readonly PagePath[]): Promise<readonly (PathErrors | null)[]>;
  /** Counts failures, and forgets those of pages that are cleared. Resolves to the state afterwards, in order. */
  note(news: readonly PathNews[]): Promise<readonly (PathErrors | null)[]>;
}

export interface PathErrorBook extends WorkerPathErrors {
  /** Up to `limit` pages with failures of a site, or of all sites, after the given place. */
  list(query: {
    readonly site: string | null;
    readonly after: ListPlace | null;
    readonly limit: number;
  }): Promise<PathErrorPage>;
  /** Forgets the failures of a site; returns how many pages had any. */
  removeSite(site: string): Promise<number>;
}

interface PathErrorPage {
  readonly errors: readonly PathErrors[];
  readonly next: ListPlace | null;
}
