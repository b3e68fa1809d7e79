import { NO_SITE, type StoredSite } from '../../../src/domain/stored-site.ts';
import type { SiteBook } from '../../../src/ports/site-book.ts';

export function openMemorySites(): SiteBook {
  const sites = new Map<string, StoredSite>();
  return {
    list: async () => [...sites.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    get: async (id) => sites.get(id) ?? null,
    async set(site, ifVersion) {
      const version = sites.get(site.id)?.version ?? NO_SITE;
      if (ifVersion !== undefined && version !== ifVersion && version !== site.version) return 'other-version';
      sites.set(site.id, site);
      return 'set';
    },
    remove: async (id) => sites.delete(id),
  };
}
