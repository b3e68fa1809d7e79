/**
 * The counts of a job. `queued` and `inProgress` are what is in flight: a waiting batch counts as one, a busy worker
 * counts as one, and the later items of the same batch are still pending. So pending is never stored: it is what is
 * left, and all seven add up to the total by construction. Tests recount the items to check that it is also true.
 */
export interface Counts {
  readonly total: number;
  readonly queued: number;
  readonly inProgress: number;
  readonly success: number;
  readonly failed: number;
  readonly skipped: number;
  readonly cancelled: number;
}

export const NO_COUNTS: Counts = {
  total: 0,
  queued: 0,
  inProgress: 0,
  success: 0,
  failed: 0,
  skipped: 0,
  cancelled: 0,
};

export function pendingOf(counts: Counts): number {
  return counts.total - inFlightOf(counts) - finishedOf(counts);
}

export function inFlightOf(counts: Counts): number {
  return counts.queued + counts.inProgress;
}

export function finishedOf(counts: Counts): number {
  return counts.success + counts.failed + counts.skipped + counts.cancelled;
}

/** Items that an attempt ended, whatever the outcome: all finished items except cancelled ones. */
export function endedOf(counts: Counts): number {
  return counts.success + counts.failed + counts.skipped;
}

/**
 * Pending and queued items are cancelled with their job, including the later items of batches in progress; the item
 * that a worker is processing ends by itself. So each batch in progress shrinks to its first unsettled item: the ledger
 * does that in the same write.
 */
export function cancelWaiting(counts: Counts): { readonly counts: Counts; readonly itemsInFlight: number } {
  const cancelled = counts.cancelled + pendingOf(counts) + counts.queued;
  return { counts: { ...counts, queued: 0, cancelled }, itemsInFlight: counts.inProgress };
}
