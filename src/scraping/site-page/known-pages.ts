import type { CachedEntry } from '../../domain/cached-page.ts';
import type { PathErrors } from '../../domain/path-errors.ts';
import type { Site } from '../../domain/site.ts';
import type { BatchScope } from '../batch-scope.ts';
import type { ScrapeContext, SiteScrapeTools } from '../scraper.ts';
import type { WantedPage } from './page-input.ts';

/** Pages that are looked up together with the one that is needed. */
const AHEAD = 31;

/**
 * For how long the answer about a later page is used. Another batch or job may have read it meanwhile; then it is requested once
 * more than necessary.
 */
const GOOD_FOR_MS = 3000;

const KNOWN = Symbol('known pages');

/** What the cache and the error tracker know about a page. */
export interface KnownPage {
  readonly entry: CachedEntry | null;
  readonly errors: PathErrors | null;
}

/** Looks up the pages of a batch, many at once, to save trips to the owner of the rows. */
export class KnownPages {
  readonly #batch: BatchScope;
  readonly #ahead = new Map<string, KnownPage>();
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(batch: BatchScope) {
    this.#batch = batch;
  }

  static of(batch: BatchScope): KnownPages {
    return batch.keep(KNOWN, () => new KnownPages(batch));
  }

  async look(
    { itemId, now }: Pick<ScrapeContext, 'itemId' | 'now'>,
    page: Pick<WantedPage, 'site' | 'path'>,
    tools: SiteScrapeTools,
  ): Promise<KnownPage> {
    const known = this.#ahead.get(page.path);
    // What this very batch finds out about a page must be asked for.
    this.#ahead.delete(page.path);
    const age = now() - this.#askedAt;
    if (known !== undefined && age >= 0 && age <= GOOD_FOR_MS) return known;
    const at = now();
    const paths = [...new Set([page.path, ...this.#pathsAfter(itemId, page.site)])];
    const { id: site, config } = page.site;
    const [entries, errors] = await Promise.all([
      tools.pageCache.look(paths.map((path) => ({ site, path, method: config.content.method }))),
      tools.pathErrors.look(paths.map((path) => ({ site, path }))),
    ]);
    this.#ahead.clear();
    this.#askedAt = at;
    const found = paths.map((_, index) => ({ entry: entries[index] ?? null, errors: errors[index] ?? null }));
    for (const [index, each] of found.entries()) if (index > 0) this.#ahead.set(paths[index] ?? '', each);
    return found[0] ?? { entry: null, errors: null };
  }

  /** Paths of the next pages of the site in this batch. */
  #pathsAfter(itemId: string, { id }: Site): readonly string[] {
    const { items } = this.#batch;
    const from = items.findIndex((item) => item.itemId === itemId) + 1;
    if (from === 0) return [];
    return items.slice(from, from + AHEAD).flatMap(({ input: { site, path } }) => {
      return site === id && typeof path === 'string' ? [path] : [];
    });
  }
}
