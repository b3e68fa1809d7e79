import type { ItemRecord } from '../../domain/item.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { ItemBook } from '../../ports/ledger.ts';

/** Items of a job read together. */
const PAGE = 1000;

/**
 * What succeeded and what failed, in the order of the job, in chunks. Two lists are merged: in a job that was cancelled
 * early, going over all items would mean reading millions for a few.
 */
export async function* endedItems(
  ledger: Pick<ItemBook, 'items'>,
  jobId: string,
): AsyncGenerator<readonly ItemRecord[]> {
  const lists = [itemsOf(ledger, jobId, 'success'), itemsOf(ledger, jobId, 'failed')];
  const heads = await Promise.all(lists.map((list) => list.next()));
  let chunk: ItemRecord[] = [];
  for (;;) {
    const places = heads.map((head) => (head.done ? Number.POSITIVE_INFINITY : head.value.seq));
    const first = places.indexOf(Math.min(...places));
    const [head, list] = [heads[first], lists[first]];
    if (head === undefined || list === undefined || head.done) break;
    chunk.push(head.value);
    if (chunk.length === PAGE) {
      yield chunk;
      chunk = [];
    }
    heads[first] = await list.next();
  }
  if (chunk.length > 0) yield chunk;
}

async function* itemsOf(
  ledger: Pick<ItemBook, 'items'>,
  jobId: string,
  status: 'success' | 'failed',
): AsyncGenerator<ItemRecord, void> {
  const read = (after: string | null) => ledger.items(jobId, { status, errorType: null }, { after, limit: PAGE });
  for await (const page of walkPages(read)) yield* page.entries;
}
