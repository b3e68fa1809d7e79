import type { StoredSite } from '../domain/stored-site.ts';

/**
 * Configurations of documentation sites. They are kept until they are removed, across restarts of everything.
 *
 * This is the part that workers use.
 */
export interface WorkerSites {
  /** Null if there is none of this id. */
  get(id: string): Promise<StoredSite | null>;
}

export interface SiteBook extends WorkerSites {
  /** By id. What `set` and `remove` resolved is in it. */
  list(): Promise<readonly StoredSite[]>;
  /**
   * Replaces the configuration. With `ifVersion`, only if that is still its version (NO_SITE if there must be none);
   * otherwise the last writer wins. The caller gives every change a version of its own; setting the same again answers as
   * the first time.
   */
  set(site: StoredSite, ifVersion?: string): Promise<'set' | 'other-version'>;
  /** False if there was none. */
  remove(id: string): Promise<boolean>;
}
