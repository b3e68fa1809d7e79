import type { NewItem } from '../../src/domain/item.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import type { Dice } from './dice.ts';
import type { DrawnGroups } from './drawn-groups.ts';

/** There are few, so that the same correction is also sent twice, and an earlier one again. */
const MOST_VERSIONS = 3;

/** A list whose values were wrong, as its user sends it again: other inputs for what failed, and for some others. */
export async function correctedItems(
  ledger: Pick<Ledger, 'job' | 'items' | 'itemsAt'>,
  jobId: string,
  dice: Dice,
  groups: DrawnGroups,
): Promise<readonly NewItem[]> {
  const job = await ledger.job(jobId);
  // The API does not add items to a re-extraction.
  if (job === null || job.extracts !== undefined) return [];
  const failed = await ledger.items(jobId, { status: 'failed', errorType: null }, { after: null, limit: 6 });
  const others = dice.happens(0.4) ? await ledger.itemsAt(jobId, dice.int(0, 5), 2) : [];
  return [...failed.entries, ...others].map(({ itemId, group }) => {
    const input = { itemId, version: dice.int(1, MOST_VERSIONS) };
    if (dice.happens(0.2)) return { itemId, input, ...groups.next() };
    return { itemId, input, ...(group === undefined ? {} : { group }) };
  });
}
