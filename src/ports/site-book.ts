import type { StoredSite } from '../domain/stored-site.ts';

/**
 * Configurations of documentation sites. They are kept until they are removed, across restarts of everything.
 * This is the part that workers use.
 */
export interface WorkerSites {
  /** Null if there is no site with this id. */
  get(id: string): Promise<StoredSite | null>;
}

export interface SiteBook extends WorkerSites {
  /** Sorted by id. Includes every `set` and `remove` that has resolved. */
  list(): Promise<readonly StoredSite[]>;
  /**
   * Replaces the configuration. With `ifVersion`, only if that is still its version (NO_SITE if there must be none);
   * otherwise the last writer wins. The caller gives every change its own version; repeating a call gets the same
   * answer.
   */
  set(site: StoredSite, ifVersion?: string): Promise<'set' | 'other-version'>;
  /** False if there was none. */
  remove(id: string): Promise<boolean>;
}
