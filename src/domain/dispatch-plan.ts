import { type Allowance, dispatchAllowance } from './allowance.ts';
import { judge, type Verdict } from './breaker.ts';
import { finishedOf, inFlightOf } from './counts.ts';
import { isDispatchable, isExhausted, type JobReason, type JobRecord } from './job.ts';
import { isFinishing } from './job-round.ts';
import { currentWait, hasWaitedTooLong, patienceEndsAt } from './job-wait.ts';
import { adapt, type Throttle } from './throttle.ts';

/** What is to be done for a job now. The ledger carries out `go`; the scheduler does the rest. */
export type DispatchPlan =
  | { readonly kind: 'go'; readonly allowance: Allowance; readonly throttle: Throttle }
  /** Nothing may go out before `until`, or, if that is null, before something happens. */
  | { readonly kind: 'wait'; readonly until: number | null }
  | { readonly kind: 'verdict'; readonly verdict: Exclude<Verdict, { kind: 'stay' }> }
  | { readonly kind: 'finish' }
  /** A host has kept the job waiting for too long: it is paused for this reason. */
  | { readonly kind: 'give-up-waiting'; readonly reason: JobReason };

const UNTIL_SOMETHING_HAPPENS: DispatchPlan = { kind: 'wait', until: null };

export function planDispatch(job: JobRecord, itemsPerBatch: number, now: number): DispatchPlan {
  // Every event is refused until the job is gone, or is kept after all.
  if (job.removing) return UNTIL_SOMETHING_HAPPENS;
  const isOver = finishedOf(job.counts) === job.counts.total && inFlightOf(job.counts) === 0;
  // A job with nothing left is finished, not tripped: there is nothing that a breaker could still save.
  if (isOver && (job.status === 'in_progress' || job.status === 'paused')) {
    if (isFinishing(job)) return UNTIL_SOMETHING_HAPPENS;
    if (isExhausted(job, now)) return { kind: 'finish' };
    return { kind: 'wait', until: job.openUntil > now ? job.openUntil : null };
  }
  if (job.status === 'paused') return planPaused(job, now);
  if (!isDispatchable(job)) return UNTIL_SOMETHING_HAPPENS;

  const verdict = judge(job, now);
  if (verdict.kind !== 'stay') return { kind: 'verdict', verdict };

  const wait = currentWait(job, now);
  if (wait !== null) {
    if (!hasWaitedTooLong(job, now)) return { kind: 'wait', until: Math.min(wait.until, patienceEndsAt(job, wait)) };
    const message = `${wait.host} has kept the job waiting since ${new Date(wait.since).toISOString()}: ${wait.reason}`;
    return { kind: 'give-up-waiting', reason: { code: 'host', message, evidence: [] } };
  }

  const throttle = adapt(
    job.throttle,
    { refusals: job.refusals, successes: job.counts.success, finished: finishedOf(job.counts) },
    job.policy.throttling,
  );
  const allowance = dispatchAllowance({ ...job, throttle }, itemsPerBatch, now);
  return allowance.batches > 0 ? { kind: 'go', allowance, throttle } : { kind: 'wait', until: allowance.wakeAt };
}

/** Only the breaker's own pause ends by itself. */
function planPaused(job: JobRecord, now: number): DispatchPlan {
  if (job.reason?.code !== 'breaker' || job.circuit.state !== 'open') return UNTIL_SOMETHING_HAPPENS;
  const verdict = judge(job, now);
  return verdict.kind === 'stay' ? { kind: 'wait', until: job.circuit.probeAt } : { kind: 'verdict', verdict };
}
