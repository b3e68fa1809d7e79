import type { ItemRecord } from '../../domain/item.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { ItemBook } from '../../ports/ledger.ts';

/** Number of items read together. */
const PAGE = 1000;

/**
 * Succeeded and failed items in the order of the job, in chunks. Two lists are merged: in a job that was cancelled
 * early, going over all items would mean reading millions for a few. An item that failed and succeeded between the two
 * reads is in both, and counts as the success it is.
 */
export async function* endedItems(
  ledger: Pick<ItemBook, 'items'>,
  jobId: string,
): AsyncGenerator<readonly ItemRecord[]> {
  const lists = [itemsOf(ledger, jobId, 'success'), itemsOf(ledger, jobId, 'failed')];
  const heads = await Promise.all(lists.map((list) => list.next()));
  let chunk: ItemRecord[] = [];
  for (;;) {
    const seq = Math.min(...heads.map((head) => (head.done ? Number.POSITIVE_INFINITY : head.value.seq)));
    const found = heads.find((head) => !head.done && head.value.seq === seq);
    if (found === undefined || found.done) break;
    chunk.push(found.value);
    if (chunk.length === PAGE) {
      yield chunk;
      chunk = [];
    }
    for (const [index, list] of lists.entries()) {
      const head = heads[index];
      if (head !== undefined && !head.done && head.value.seq === seq) heads[index] = await list.next();
    }
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
