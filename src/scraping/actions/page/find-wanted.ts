import type { WholePage } from '../../extract/whole-page.ts';
import { ScrapeFailure } from '../../scrape-failure.ts';
import { NeedsBrowser, type Sight } from '../engine.ts';
import type { Wanted } from '../wanted.ts';
import { findElements } from './find-elements.ts';

/** What is wanted on a page that was read: the matches of the first alternative that has any. */
export function findWanted(page: WholePage, wanted: Wanted): Sight {
  const { within } = wanted;
  const scope = within === null ? null : findWanted(page, within).elements[0];
  if (scope === undefined) return { elements: [], page, alternative: null };
  const place = { page: page.document, root: scope };
  let unreadable: string | null = null;
  for (const [alternative, parts] of wanted.alternatives.entries()) {
    try {
      const found = findElements(place, parts);
      if (found.length > 0) return { elements: chosen(found, wanted.nth), page, alternative };
    } catch (error) {
      // Browsers know more of CSS and XPath. The page itself may be too large to read.
      if (error instanceof ScrapeFailure) throw error;
      unreadable ??= error instanceof Error ? error.message : String(error);
    }
  }
  if (unreadable !== null) throw new NeedsBrowser(`${wanted.described}: ${unreadable}`);
  return { elements: [], page, alternative: null };
}

function chosen<T>(found: readonly T[], nth: number | null): readonly T[] {
  return nth === null ? found : found.slice(nth, nth + 1);
}
