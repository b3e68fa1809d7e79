import type { Site } from '../../../domain/site.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { ListPlace, PageCache } from '../../../ports/page-cache.ts';
import type { TreePage } from './page-tree.ts';

interface CachedDeps {
  readonly pageCache: Pick<PageCache, 'list' | 'content'>;
  readonly clock: Pick<Clock, 'turn'>;
}

const ROWS_AT_ONCE = 100;

/** All that is cached of a site by its present method: pages with their contents, and links to files. */
export async function* cachedPages({ pageCache, clock }: CachedDeps, { id, config }: Site): AsyncGenerator<TreePage> {
  let after: ListPlace | null = null;
  do {
    const { entries, next }: Awaited<ReturnType<PageCache['list']>> = await pageCache.list({
      ...{ site: id, after, limit: ROWS_AT_ONCE },
    });
    for (const entry of entries) {
      const { path, url, type } = entry;
      const about = { type, url, site: id, path, fetched_at: new Date(entry.fetchedAt).toISOString() };
      if (entry.type === 'asset') yield { site: id, path, markdown: null, about };
      if (entry.type !== 'page' || entry.method !== config.content.method) continue;
      const { title, flagged } = entry;
      const markdown = await pageCache.content(id, entry);
      yield { site: id, path, markdown, about: { ...about, title, flagged } };
    }
    await clock.turn();
    after = next;
  } while (after !== null);
}
