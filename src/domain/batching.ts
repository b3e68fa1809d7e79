import { PENDING_ORDER, type PendingKind } from './pending-order.ts';

/**
 * How the items of a job are put into batches: items of one group together, up to a maximum. Without it, batches have
 * whatever size suits the backend, and groups do not matter.
 */
export interface Batching {
  readonly by: 'group';
  readonly maxItems: number;
}

/** The largest possible batch: on AWS a batch is a row, made of items that are stored together by the hundred. */
export const MAX_BATCH_ITEMS = 100;

/** Pending items of one kind, in order. */
export interface PendingRun {
  readonly kind: PendingKind;
  /** Items of different groups never share a batch. Null for items without a group, and for jobs without batching. */
  readonly group: string | null;
  /**
   * Items of different lots never share a batch: if a ledger stores items separately, a batch must not span two places.
   */
  readonly lot: number;
  readonly count: number;
}

/** Which pending items form a batch: the number to take from the front of each run. */
export interface PlannedBatch<Run extends PendingRun> {
  readonly suspect: boolean;
  readonly lot: number;
  readonly group: string | null;
  readonly parts: readonly { readonly run: Run; readonly count: number }[];
}

/** Splits a list into runs of neighbours with the same group, keeping its order. */
export function splitByGroup<Item>(
  items: readonly Item[],
  groupOf: (item: Item) => string | null,
): readonly { readonly group: string | null; readonly items: Item[] }[] {
  const parts: { readonly group: string | null; readonly items: Item[] }[] = [];
  for (const item of items) {
    const group = groupOf(item);
    const last = parts.at(-1);
    if (last !== undefined && last.group === group) last.items.push(item);
    else parts.push({ group, items: [item] });
  }
  return parts;
}

export interface BatchLimits {
  readonly batches: number;
  readonly itemsPerBatch: number;
  /** In all batches together. */
  readonly items: number;
}

/**
 * At most `batches` batches of at most `itemsPerBatch` items, and no more than `items` in total. Runs of one kind go
 * out in the order of the list; neighbours of one group share a batch as long as it has room.
 */
export function planBatches<Run extends PendingRun>(
  runs: readonly Run[],
  { batches, itemsPerBatch, items }: BatchLimits,
): readonly PlannedBatch<Run>[] {
  const planned: (PlannedBatch<Run> & { readonly parts: { run: Run; count: number }[] })[] = [];
  let room = 0;
  let unplanned = items;
  for (const kind of PENDING_ORDER) {
    const suspect = kind === 'suspect';
    for (const run of runs) {
      if (run.kind !== kind) continue;
      for (let left = run.count; left > 0; ) {
        if (unplanned <= 0) return planned;
        const last = planned.at(-1);
        if (last === undefined || room === 0 || last.suspect !== suspect || !goTogether(last, run)) {
          if (planned.length >= batches) return planned;
          planned.push({ suspect, lot: run.lot, group: run.group, parts: [] });
          room = itemsPerBatch;
        }
        const count = Math.min(left, room, unplanned);
        planned.at(-1)?.parts.push({ run, count });
        room -= count;
        left -= count;
        unplanned -= count;
      }
    }
  }
  return planned;
}

function goTogether(one: Pick<PendingRun, 'lot' | 'group'>, other: PendingRun): boolean {
  return one.lot === other.lot && one.group === other.group;
}
