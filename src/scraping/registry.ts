import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Scraper } from './scraper.ts';

/** The scrapers that this process knows, by id. */
export class ScraperRegistry {
  readonly #scrapers = new Map<string, { scraper: Scraper; origin: string }>();

  add(scraper: Scraper, origin: string): void {
    const other = this.#scrapers.get(scraper.id);
    if (other) throw new Error(`two scrapers have the id ${scraper.id}: ${other.origin} and ${origin}`);
    this.#scrapers.set(scraper.id, { scraper, origin });
  }

  /** Null when there is none of that id. */
  find(id: string): Scraper | null {
    return this.#scrapers.get(id)?.scraper ?? null;
  }

  all(): readonly Scraper[] {
    return [...this.#scrapers.values()].map(({ scraper }) => scraper);
  }
}

/** Every `.ts` file below these folders whose default export is a scraper. */
export async function loadScrapers(folders: readonly string[]): Promise<ScraperRegistry> {
  const registry = new ScraperRegistry();
  for (const folder of folders) {
    const names = await readdir(folder, { recursive: true });
    for (const name of names.filter((each) => each.endsWith('.ts')).sort()) {
      const file = join(folder, name);
      const module: { default?: unknown } = await import(pathToFileURL(file).href);
      if (!isScraper(module.default)) throw new Error(`${file} has no scraper as its default export`);
      registry.add(module.default, file);
    }
  }
  return registry;
}

function isScraper(value: unknown): value is Scraper {
  return typeof value === 'object' && value !== null && 'id' in value && 'scrape' in value;
}
