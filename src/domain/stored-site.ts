import { canonicalJson } from './canonical-json.ts';
import type { Site, SiteConfig } from './site.ts';

/** A site as it is kept. */
export interface StoredSite extends Site {
  /**
   * `file`: it came from the file of sites, which may change it at every start. `api`: it was set through the API,
   * which takes precedence.
   */
  readonly source: 'file' | 'api';
  readonly changedAt: number;
  /** A new one after every change. */
  readonly version: string;
}

/** The version that means that there is no such site. */
export const NO_SITE = 'none';

/** All sites are read to find the one of a URL. */
export const MAX_SITES = 5000;

/**
 * How the file of sites changes the stored ones. A site set through the API takes precedence over the file. One that
 * came from a file and is no longer in it is removed.
 */
export function planSiteImport(
  stored: readonly StoredSite[],
  file: ReadonlyMap<string, Site>,
): { readonly set: readonly Site[]; readonly remove: readonly string[] } {
  const known = new Map(stored.map((site) => [site.id, site]));
  const set = [...file.values()].filter(({ id, config }) => {
    const before = known.get(id);
    return before === undefined || (before.source === 'file' && !isSameConfig(before.config, config));
  });
  const gone = stored.filter(({ id, source }) => source === 'file' && !file.has(id));
  return { set, remove: gone.map(({ id }) => id) };
}

function isSameConfig(one: SiteConfig, other: SiteConfig): boolean {
  return canonicalJson(one) === canonicalJson(other);
}
