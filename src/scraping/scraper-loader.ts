import type { Scanned } from './scan-scraper.ts';
import type { Scraper } from './scraper.ts';

/** Makes scrapers of one kind of file. Errors name the file, because they are shown to its author. */
export interface ScraperLoader {
  /** What the file says about itself, without running it. Throws if the file cannot be read. */
  scan(file: string): Promise<Scanned>;
  /** The scraper as its file is now; null for a file that holds none. Throws if the file cannot be used. */
  load(file: string): Promise<Scraper | null>;
  /** Whether the file, or another that it is made of, has changed since `load`, whether or not that could use it. */
  hasChanged(file: string): boolean;
  /** Hexadecimal digits that differ where the code that was loaded last differs; null if they are not known. */
  codeOf(file: string): string | null;
}

/** By how a file's name ends; the longest suffix that fits decides. Null: such files are never scrapers. */
export type ScraperLoaders = Readonly<Record<string, ScraperLoader | null>>;

/** Null for a file that holds no scraper by its name. */
export function findLoader(loaders: ScraperLoaders, file: string): ScraperLoader | null {
  const suffix = findSuffix(loaders, file);
  return suffix === null ? null : (loaders[suffix] ?? null);
}

/** `az/maricopa` for `az/maricopa.ts`. */
export function withoutSuffix(loaders: ScraperLoaders, file: string): string {
  return file.slice(0, file.length - (findSuffix(loaders, file) ?? '').length);
}

function findSuffix(loaders: ScraperLoaders, file: string): string | null {
  const fitting = Object.keys(loaders).filter((suffix) => file.endsWith(suffix));
  return fitting.sort((a, b) => b.length - a.length)[0] ?? null;
}
