import { PENDING_ORDER, type PendingKind } from './pending-order.ts';

/** Pending items of one kind, in order. */
export interface PendingRun {
  readonly kind: PendingKind;
  /** Items of different lots never share a batch: where a ledger stores items apart, a batch must not span two places. */
  readonly lot: number;
  readonly count: number;
}

/** Which pending items make a batch: so many of the first that are left of each run. */
export interface PlannedBatch<Run extends PendingRun> {
  readonly suspect: boolean;
  readonly lot: number;
  readonly parts: readonly { readonly run: Run; readonly count: number }[];
}

export interface BatchLimits {
  readonly batches: number;
  readonly itemsPerBatch: number;
}

/** At most `batches` batches of at most `itemsPerBatch` items. Runs of one kind go out in the order of the list. */
export function planBatches<Run extends PendingRun>(
  runs: readonly Run[],
  { batches, itemsPerBatch }: BatchLimits,
): readonly PlannedBatch<Run>[] {
  const planned: (PlannedBatch<Run> & { readonly parts: { run: Run; count: number }[] })[] = [];
  let room = 0;
  for (const kind of PENDING_ORDER) {
    const suspect = kind === 'suspect';
    for (const run of runs) {
      if (run.kind !== kind) continue;
      for (let left = run.count; left > 0; ) {
        const last = planned.at(-1);
        if (last === undefined || room === 0 || last.suspect !== suspect || last.lot !== run.lot) {
          if (planned.length >= batches) return planned;
          planned.push({ suspect, lot: run.lot, parts: [] });
          room = itemsPerBatch;
        }
        const count = Math.min(left, room);
        planned.at(-1)?.parts.push({ run, count });
        room -= count;
        left -= count;
      }
    }
  }
  return planned;
}
