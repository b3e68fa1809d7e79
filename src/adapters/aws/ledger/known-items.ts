import { type ItemInput, isSameInput, type NewItem, type RepeatedItem } from '../../../domain/item.ts';
import type { Table } from '../dynamo/table.ts';
import type { IdIndex, IdJob } from '../ids/id-index.ts';
import { readInputs } from './chunk.ts';

interface Lookup {
  readonly table: Table;
  readonly ids: IdIndex;
}

/**
 * The items whose id one of the first `total` items of the job has, or an earlier one of the list. Their `first` is a
 * place in the job, where the new ones of the list come after those that are there. `moved`: look at the job again.
 */
export async function knownItems(
  lookup: Lookup,
  job: IdJob,
  total: number,
  items: readonly NewItem[],
): Promise<readonly RepeatedItem[] | 'moved'> {
  // Rows of inputs are read to confirm an id, so that comparing the inputs costs no request of its own.
  const stored = new Map<number, NewItem>();
  const places = await locateItems(
    lookup,
    job,
    items.map(({ itemId }) => itemId),
    stored,
  );
  if (places === 'moved') return 'moved';
  const seen = new Map<string, { readonly place: number; readonly input: ItemInput }>();
  const known: RepeatedItem[] = [];
  for (const [index, { itemId, input }] of items.entries()) {
    const place = places[index] ?? null;
    const there = place === null || place >= total ? undefined : { place, input: stored.get(place)?.input ?? {} };
    const earlier = seen.get(itemId) ?? there;
    if (earlier === undefined) seen.set(itemId, { place: total + index - known.length, input });
    else {
      seen.set(itemId, earlier);
      known.push({ index, first: earlier.place, differs: !isSameInput(earlier.input, input) });
    }
  }
  return known;
}

/** The places of ids, null for those that the job does not have. What was read to know it is put into `stored`. */
export async function locateItems(
  { table, ids }: Lookup,
  job: IdJob,
  itemIds: readonly string[],
  stored: Map<number, NewItem> = new Map(),
): Promise<readonly (number | null)[] | 'moved'> {
  return await ids.locate(job, itemIds, async (pairs) => {
    const inputs = await readInputs(
      table,
      job.inc,
      pairs.map(({ seq }) => seq),
    );
    return pairs.map(({ seq, itemId }) => {
      const item = inputs.get(seq);
      if (item?.itemId !== itemId) return false;
      stored.set(seq, item);
      return true;
    });
  });
}
