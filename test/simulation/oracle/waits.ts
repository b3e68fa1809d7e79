import type { ModelBatch, ModelItem, ModelJob } from './model.ts';

/** A wait that ends further ahead than it can is from before the clock was set back. */
export function isWaiting({ waiting }: ModelJob, now: number): boolean {
  return waiting !== null && now < waiting.until && waiting.until <= now + 2 * waiting.ms;
}

/** Batches by group wait one by one; but control items could not be tried meanwhile. */
export function goesOnMeanwhile({ batching, policy }: ModelJob): boolean {
  return batching !== null && policy.controls.items.length === 0;
}

/** The later one of two waits counts; one that is over no longer counts. */
export function beginWait(job: ModelJob, batch: ModelBatch, until: number, now: number): void {
  if (job.batching !== null) for (const item of batch.items ?? []) item.hold = { at: now, until };
  const before = isWaiting(job, now) ? job.waiting : null;
  const from = Math.min(now, before?.from ?? now);
  job.waiting = before !== null && before.until >= until ? { ...before, from } : { until, ms: until - now, from };
}

/**
 * Work goes out: answers from when on holds of items are in force. A hold that was over once no longer binds a caller
 * whose clock is slow or was set back since.
 */
export function holdsAtDispatch(job: ModelJob, now: number): number | null {
  const from = isWaiting(job, now) ? (job.waiting?.from ?? null) : null;
  if (from === null) job.waiting = null;
  for (const item of job.items) if (!isInForce(item, from, now)) item.hold = null;
  return from;
}

/** Whether the item went out although its host was not to be visited yet. */
export function wentOutTooSoon(job: ModelJob, item: ModelItem, { queuedAt, heldFrom }: WhenDispatched): boolean {
  return isInForce(item, heldFrom, queuedAt) && goesOnMeanwhile(job) && !job.isFoggy;
}

export type WhenDispatched = Pick<ModelBatch, 'queuedAt' | 'heldFrom'>;

function isInForce({ hold }: ModelItem, from: number | null, now: number): boolean {
  return hold !== null && from !== null && hold.at >= from && now < hold.until;
}
