import { type Allowance, ceilingOf, dispatchAllowance } from './allowance.ts';
import { judge, type Verdict } from './breaker.ts';
import { judgeBudget } from './budget.ts';
import { finishedOf, inFlightOf } from './counts.ts';
import { isDispatchable, isExhausted, type JobReason, type JobRecord } from './job.ts';
import { awaitsControls, controlStep } from './job-controls.ts';
import { isFinishing } from './job-round.ts';
import { currentWait, hasWaitedTooLong, patienceEndsAt, triesAgainAt, waitsByBatch } from './job-wait.ts';
import { adapt, type Throttle } from './throttle.ts';

/** What to do for a job now. The ledger carries out `go`; the scheduler does the rest. */
export type DispatchPlan =
  /** `wakeAt`: when to look again even if nothing happens; null for never. */
  | {
      readonly kind: 'go';
      readonly allowance: Allowance;
      readonly throttle: Throttle;
      readonly wakeAt: number | null;
    }
  /** Nothing may go out before `until`; null means before something happens. */
  | { readonly kind: 'wait'; readonly until: number | null }
  | { readonly kind: 'verdict'; readonly verdict: Exclude<Verdict, { kind: 'stay' }> }
  /** The budget is used up: the job must be paused. */
  | { readonly kind: 'exhausted' }
  | { readonly kind: 'finish' }
  /** A host has kept the job waiting for too long: it is paused for this reason. */
  | { readonly kind: 'give-up-waiting'; readonly reason: JobReason }
  /** A control item must be sent to a worker (`send-control`). */
  | { readonly kind: 'control' }
  /** Negatives that ended after `since` must be reopened; null for all of them. */
  | { readonly kind: 'reopen'; readonly since: number | null };

const UNTIL_SOMETHING_HAPPENS: DispatchPlan = { kind: 'wait', until: null };

export function planDispatch(job: JobRecord, itemsPerBatch: number, now: number): DispatchPlan {
  // Every event is refused until the job is gone, or is kept after all.
  if (job.removing) return UNTIL_SOMETHING_HAPPENS;
  const isOver = finishedOf(job.counts) === job.counts.total && inFlightOf(job.counts) === 0;
  // A job with nothing left is finished, not tripped: a breaker could no longer save anything.
  if (isOver && (job.status === 'in_progress' || job.status === 'paused')) {
    if (isFinishing(job)) return UNTIL_SOMETHING_HAPPENS;
    if (awaitsControls(job)) return job.status === 'paused' ? planPaused(job, now) : planControls(job, now);
    if (isExhausted(job, now)) return { kind: 'finish' };
    return { kind: 'wait', until: job.openUntil > now ? job.openUntil : null };
  }
  if (job.status === 'paused') return planPaused(job, now);
  if (!isDispatchable(job)) return UNTIL_SOMETHING_HAPPENS;

  const verdict = judge(job, now);
  if (verdict.kind !== 'stay') return { kind: 'verdict', verdict };
  if (job.controls?.suspect) return planControls(job, now);

  const budget = judgeBudget(job);
  if (budget.kind === 'reached') return { kind: 'exhausted' };
  const wait = planWait(job, now);
  if (wait !== null) return wait;
  const control = job.circuit.state === 'closed' ? controlStep(job, ceilingOf(job), now) : null;
  if (control?.kind === 'send') return { kind: 'control' };

  const throttle = adapt(
    job.throttle,
    { refusals: job.refusals, successes: job.counts.success, finished: finishedOf(job.counts) },
    job.policy.throttling,
  );
  const allowance = dispatchAllowance({ ...job, throttle }, itemsPerBatch, control ?? undefined, budget);
  const wakeAt = control?.until ?? currentWait(job, now)?.until ?? null;
  return allowance.batches > 0 ? { kind: 'go', allowance, throttle, wakeAt } : { kind: 'wait', until: wakeAt };
}

/**
 * Items that a bad control made suspect are reopened once nothing is in flight: items in flight may still end the same
 * way.
 */
function planControls(job: JobRecord, now: number): DispatchPlan {
  if (job.controls?.suspect) {
    return inFlightOf(job.counts) > 0 ? UNTIL_SOMETHING_HAPPENS : { kind: 'reopen', since: job.controls.suspect.since };
  }
  const wait = planWait(job, now);
  if (wait !== null) return wait;
  const step = controlStep(job, ceilingOf(job), now);
  // A worker would not carry it out, and a job that only waits for its last control would wait forever.
  if (step.kind === 'send' && judgeBudget(job).kind === 'reached') return { kind: 'exhausted' };
  return step.kind === 'send' ? { kind: 'control' } : { kind: 'wait', until: step.until };
}

/** What to do about a host that keeps the job waiting; null if none does. */
function planWait(job: JobRecord, now: number): DispatchPlan | null {
  const wait = currentWait(job, now);
  if (wait === null) return null;
  if (!hasWaitedTooLong(job, now)) {
    const until = waitsByBatch(job) ? triesAgainAt(job, now) : wait.until;
    return until === null ? null : { kind: 'wait', until: Math.min(until, wait.until, patienceEndsAt(job, wait)) };
  }
  const message = `${wait.host} has kept the job waiting since ${new Date(wait.since).toISOString()}: ${wait.reason}`;
  return { kind: 'give-up-waiting', reason: { code: 'host', message, evidence: [] } };
}

/** Only the breaker's own pause ends by itself. */
function planPaused(job: JobRecord, now: number): DispatchPlan {
  if (job.reason?.code !== 'breaker' || job.circuit.state !== 'open') return UNTIL_SOMETHING_HAPPENS;
  const verdict = judge(job, now);
  return verdict.kind === 'stay' ? { kind: 'wait', until: job.circuit.probeAt } : { kind: 'verdict', verdict };
}
