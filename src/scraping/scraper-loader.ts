import type { Scanned } from './scan-scraper.ts';
import type { Scraper } from './scraper.ts';

/** Makes scrapers from one kind of file. Errors name the file, because they are shown to its author. */
export interface ScraperLoader {
  /** What the file says about itself, without running it. Throws if the file cannot be read. */
  scan(file: string): Promise<Scanned>;
  /** The scraper as its file is now; null for a file that contains none. Throws if the file cannot be used. */
  load(file: string): Promise<Scraper | null>;
  /** Whether the file, or another that it is made of, has changed since `load`, whether or not that succeeded. */
  hasChanged(file: string): boolean;
  /** Hexadecimal digits that differ if the last loaded code differs; null if unknown. */
  codeOf(file: string): string | null;
}

/** By the end of a file's name; the longest matching suffix decides. Null: such files are never scrapers. */
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
