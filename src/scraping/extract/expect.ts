import { failure } from '../../domain/failure.ts';
import { fail, ScrapeFailure } from '../scrape-failure.ts';
import type { Reader } from './reader.ts';

/** Checks with which a scraper makes sure that no wrong page becomes a good result. */
export const expect = {
  /** The right page contains this text. Any other page is not the requested one, unless it explains itself. */
  text(page: Reader, text: string | RegExp): void {
    if (page.says(text)) return;
    const what = typeof text === 'string' ? `"${text}"` : String(text);
    const missing = page.missing(what);
    if (missing.failure.type !== 'structure_changed') throw missing;
    throw new ScrapeFailure(failure('navigation_failed', `this is not the requested page: ${missing.message}`));
  },

  /** None of these fields may be null, empty or NaN. Names every one that is. */
  fields<Data extends object>(data: Data, names: readonly (keyof Data & string)[]): void {
    const empty = names.filter((name) => isEmpty(data[name]));
    if (empty.length > 0) fail('structure_changed', `nothing was read for ${empty.join(', ')}`);
  },

  /**
   * Some sites answer with another item than the requested one. By default only letters and digits count, regardless of
   * case.
   */
  sameItem(found: string, asked: string, normalise: (id: string) => string = lettersAndDigits): void {
    if (normalise(found) === normalise(asked)) return;
    fail('navigation_failed', `the page is about ${JSON.stringify(found)}, not ${JSON.stringify(asked)}`);
  },
} as const;

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || Number.isNaN(value)) return true;
  if (typeof value === 'string') return value.trim() === '';
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function lettersAndDigits(id: string): string {
  return id.toUpperCase().replace(/[^\p{L}\p{N}]/gu, '');
}
