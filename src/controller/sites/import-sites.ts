import type { Site } from '../../domain/site.ts';
import { planSiteImport, type StoredSite } from '../../domain/stored-site.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SiteBook } from '../../ports/site-book.ts';

interface SiteDeps {
  readonly sites: SiteBook;
  readonly clock: Clock;
}

/**
 * Synchronises the stored sites with the file of sites. Without a file nothing changes: a controller started without
 * one does not remove the sites of another.
 */
export async function importSites(deps: SiteDeps, file: ReadonlyMap<string, Site>): Promise<void> {
  if (file.size === 0) return;
  const { set, remove } = planSiteImport(await deps.sites.list(), file);
  for (const site of set) await deps.sites.set(fromFile(deps, site));
  for (const id of remove) await deps.sites.remove(id);
}

/**
 * Removes what was set through the API; the configuration in the file then applies again. False if there was no such
 * site.
 */
export async function removeSite(
  deps: SiteDeps,
  id: string,
  file: ReadonlyMap<string, Site>,
): Promise<{ readonly removed: boolean; readonly restored: StoredSite | null }> {
  const inFile = file.get(id);
  if (inFile === undefined) return { removed: await deps.sites.remove(id), restored: null };
  const restored = fromFile(deps, inFile);
  await deps.sites.set(restored);
  return { removed: true, restored };
}

function fromFile({ clock }: Pick<SiteDeps, 'clock'>, site: Site): StoredSite {
  return { ...site, source: 'file', changedAt: clock.now(), version: clock.id() };
}
