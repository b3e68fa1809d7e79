import type { ItemRecord } from '../../domain/item.ts';
import type { ItemBook } from '../../ports/ledger.ts';

/**
 * The items of another job that have these ids. A re-extraction has its items in the order of the older job, so most of
 * them are read in a few runs; the others are looked up, so nothing depends on the order.
 */
export async function itemsAlike(
  ledger: Pick<ItemBook, 'item' | 'itemsAt'>,
  jobId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ItemRecord>> {
  const found = new Map<string, ItemRecord>();
  let readUpTo = -1;
  for (const [index, id] of ids.entries()) {
    if (found.has(id)) continue;
    const record = await ledger.item(jobId, id);
    if (record === null) continue;
    found.set(id, record);
    // Only reads ahead: in a job with another order no place is read twice.
    const left = ids.length - index - 1;
    if (record.seq <= readUpTo || left === 0) continue;
    for (const next of await ledger.itemsAt(jobId, record.seq + 1, left)) found.set(next.itemId, next);
    readUpTo = record.seq + left;
  }
  return found;
}
