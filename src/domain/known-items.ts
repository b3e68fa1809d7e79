import { type ItemStatus, isSameInput, type NewItem, nextStatus, type RepeatedItem } from './item.ts';

/** What happens to items that a job already has when they are added to it. */
interface KnownItems {
  /** All of them, by index. */
  readonly duplicates: readonly number[];
  /** Those that replace the input of a failed item; `first` is its place in the job. */
  readonly replacing: readonly RepeatedItem[];
  /** Those whose input differs and is not used, by index. */
  readonly differing: readonly number[];
}

/**
 * A failed item takes the other input and is tried again with it. Any other item keeps its own: a worker may be
 * processing it, or its results belong to that input. If an id occurs in the list twice, only the first one counts;
 * otherwise sending such a list again would change the input each time.
 */
export function sortKnownItems(
  items: readonly NewItem[],
  known: readonly RepeatedItem[],
  statusAt: (place: number) => ItemStatus,
): KnownItems {
  const duplicates = known.map(({ index }) => index);
  // True for nearly all lists, which may be long.
  if (!known.some(({ differs }) => differs)) return { duplicates, replacing: [], differing: [] };
  const replacing = new Map<number, RepeatedItem>();
  const differing: number[] = [];
  const met = newIds(items, duplicates);
  for (const one of known) {
    const { index, first } = one;
    const itemId = items[index]?.itemId ?? '';
    const isFirst = !met.has(itemId);
    met.add(itemId);
    if (!differsNow(items, one, replacing.get(first))) continue;
    if (isFirst && takesInput(statusAt(first))) replacing.set(first, one);
    else differing.push(index);
  }
  return { duplicates, replacing: [...replacing.values()], differing };
}

/** Ids of the items that this list adds. */
function newIds(items: readonly NewItem[], duplicates: readonly number[]): Set<string> {
  const isKnown = new Set(duplicates);
  return new Set(items.filter((_, index) => !isKnown.has(index)).map(({ itemId }) => itemId));
}

/** Compared with the input that the item now has. */
function differsNow(items: readonly NewItem[], one: RepeatedItem, replaced: RepeatedItem | undefined): boolean {
  if (replaced === undefined) return one.differs;
  return !isSameInput(items[replaced.index]?.input ?? {}, items[one.index]?.input ?? {});
}

/** Whether an item may be given another input. */
export function takesInput(status: ItemStatus): boolean {
  return nextStatus(status, 'correct') !== null;
}
