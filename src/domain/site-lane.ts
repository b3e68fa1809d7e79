import type { Lane } from './lane.ts';
import { contentMode, type Site } from './site.ts';

/** Pages that may need a browser need workers that have one; `auto` can do without where there are none (`served`). */
export function laneForSites(sites: Iterable<Site>, served: ReadonlySet<Lane> | null): Lane {
  const modes = new Set(Array.from(sites, ({ config }) => contentMode(config)));
  if (modes.has('browser')) return 'browser';
  const hasBrowsers = served === null || served.has('browser');
  return modes.has('auto') && hasBrowsers ? 'browser' : 'http';
}
