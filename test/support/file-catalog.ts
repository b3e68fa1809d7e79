import { openCatalog } from '../../src/scraping/catalog.ts';
import type { ScraperRegistry } from '../../src/scraping/registry.ts';
import { FakeClock } from './fake-clock.ts';
import { openMemoryRecordings } from './memory/recordings.ts';

/** The catalog of a registry, with no stored recordings unless they are given. */
export function openFileCatalog(registry: ScraperRegistry, tools = openMemoryRecordings()) {
  return openCatalog({ registry, ...tools, clock: new FakeClock() });
}
