import type { Digest } from '../../domain/artifact.ts';
import type { NewItem } from '../../domain/item.ts';
import type { ScrapeRunItem } from '../../domain/items-to-sessions.ts';
import type { RunOrder } from '../../domain/run-order.ts';
import { sessionWaves } from '../../domain/session-waves.ts';
import { pageItemId } from '../../domain/site-links.ts';
import { textProblem } from '../../domain/storable-input.ts';

const ITEMS_PER_CHUNK = 1000;

/** Longer than any address that a server accepts. */
const LONGEST_URL = 10_000;

/** Items that can be scraped, each URL once, and those that cannot, with the reason. */
export function sortItems(items: readonly ScrapeRunItem[]) {
  const seen = new Set<string>();
  const usable: ScrapeRunItem[] = [];
  const unusable: { readonly url: string; readonly reason: string }[] = [];
  for (const item of items) {
    const { url } = item;
    if (seen.has(url)) continue;
    seen.add(url);
    const problem = url.length > LONGEST_URL ? `is longer than ${LONGEST_URL} characters` : textProblem(url);
    if (problem === null) usable.push(item);
    else unusable.push({ url, reason: `invalid_input: the URL ${problem}` });
  }
  return { usable, unusable };
}

/**
 * The items of a job, wave by wave: what one session gets in one wave is a group, and becomes a batch that one worker
 * processes in order. No wave waits for the one before it: a session that is done early gets its next group at once.
 */
export function* groupedItems(
  items: readonly ScrapeRunItem[],
  { sessions, strategy, maxItemsPerSession, field }: RunOrder,
  digest: Digest,
): Generator<readonly NewItem[]> {
  let chunk: NewItem[] = [];
  let wave = 0;
  for (const lists of sessionWaves(items, { sessions, strategy, maxItemsPerSession })) {
    wave += 1;
    for (const [session, own] of lists.entries()) {
      const group = `wave ${wave}, session ${session + 1}`;
      for (const { url } of own) chunk.push({ itemId: pageItemId(url, digest), input: { [field]: url }, group });
    }
    if (chunk.length < ITEMS_PER_CHUNK) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
