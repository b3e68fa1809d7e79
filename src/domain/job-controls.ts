import type { Tally } from './breaker.ts';
import {
  type ControlReport,
  type ControlState,
  FRESH_CONTROLS,
  judgeControl,
  LONGEST_SEND_AGAIN_MS,
  LONGEST_UNCLEAR_WAIT_MS,
  owing,
  whenReported,
  whenSent,
} from './control-state.ts';
import { type Counts, finishedOf, inFlightOf } from './counts.ts';
import { isDue } from './due.ts';
import type { FailureType } from './failure.ts';
import { isFinishing } from './job-round.ts';
import type { JobStatus } from './job-steps.ts';
import { type WaitingFor, waitAfter } from './job-wait.ts';
import type { ControlItem, Policy } from './policy.ts';
import type { Refusal } from './refusal.ts';
import { addUsage, type Usage } from './usage.ts';

/** How control items affect a job. The rules about a single control are in `control-state.ts`. */
export type ControlEvent =
  /** The control that is due is sent to a worker, possibly again. */
  | { readonly kind: 'send-control' }
  | { readonly kind: 'control'; readonly report: ControlReport }
  /** The negatives that a bad control made suspect are reopened. */
  | { readonly kind: 'negatives-reopened' };

/**
 * What a site says about an input that it does not know: believable one by one, but wrong if a control is not found
 * either.
 */
export const NEGATIVES = ['no_results', 'not_found'] as const satisfies readonly FailureType[];

/** The fields of a job that its controls depend on. */
export interface Controlled {
  readonly policy: Policy;
  readonly counts: Counts;
  readonly itemsInFlight: number;
  readonly tally: Tally;
  readonly controls?: ControlState;
  readonly extracts?: string;
}

/** The fields that an event about a control changes, too. */
interface ControlledJob extends Controlled {
  readonly incarnation: string;
  readonly status: JobStatus;
  readonly held: boolean;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly waitingFor?: WaitingFor;
  readonly usage: Usage;
}

/** What to do about the controls of a job that may be dispatched. */
export type ControlStep =
  /** Send the control, or send it again. */
  | { readonly kind: 'send' }
  /**
   * This many items may go out. One slot is reserved for a control that is out, or that is due as soon as a slot is
   * free. Look again at `until`.
   */
  | { readonly kind: 'limit'; readonly items: number; readonly slots: 0 | 1; readonly until: number | null };

const NO_LIMIT: ControlStep = { kind: 'limit', items: Number.POSITIVE_INFINITY, slots: 0, until: null };

function stateOf({ controls }: Controlled): ControlState {
  return controls ?? FRESH_CONTROLS;
}

/** A re-extraction does not contact the site. */
function hasControls({ policy, extracts }: Controlled): boolean {
  return policy.controls.items.length > 0 && extracts === undefined;
}

/** `slots` is how many batches may be in flight in total. */
export function controlStep(job: Controlled, slots: number, now: number): ControlStep {
  if (!hasControls(job)) return NO_LIMIT;
  const state = stateOf(job);
  const { every } = job.policy.controls;
  const since = job.tally.finished + job.itemsInFlight - state.mark.finished;
  const items = state.isOwed ? 0 : Math.max(0, every - since);
  if (state.out !== null) {
    const { sendAgainAt } = state.out;
    if (isDue(sendAgainAt, now, LONGEST_SEND_AGAIN_MS)) return { kind: 'send' };
    return { kind: 'limit', items, slots: 1, until: sendAgainAt };
  }
  // Sent early by the number of items in flight, so that workers need not wait for each control.
  const lead = Math.min(Math.floor(every / 2), job.itemsInFlight);
  const isDueNow = hasWaiting(job) && (state.isOwed || since >= every - lead);
  if (!isDueNow && !owesLastControl(job)) return { kind: 'limit', items, slots: 0, until: null };
  if (!isDue(state.nextAt, now, LONGEST_UNCLEAR_WAIT_MS))
    return { kind: 'limit', items, slots: 0, until: state.nextAt };
  return inFlightOf(job.counts) < slots ? { kind: 'send' } : { kind: 'limit', items, slots: 1, until: null };
}

/** If no item could go out, there is nothing to protect. */
function hasWaiting({ counts, itemsInFlight }: Controlled): boolean {
  return counts.total > finishedOf(counts) + itemsInFlight;
}

/** How many items may finish before the next control must have been good, for display. */
export function itemsUntilControl(job: Controlled): number {
  const { isOwed, mark } = stateOf(job);
  return isOwed ? 0 : Math.max(0, job.policy.controls.every - (job.tally.finished - mark.finished));
}

/** Whether only a control is left: negatives were recorded since the last good one was sent. */
function owesLastControl(job: Controlled): boolean {
  const state = stateOf(job);
  if (finishedOf(job.counts) < job.counts.total) return false;
  return job.tally.missed > state.mark.missed || (state.isOwed && job.counts.failed > 0);
}

/** Whether a job in which every item is final must not be completed yet. */
export function awaitsControls(job: Controlled): boolean {
  return mustReopen(job) || (hasControls(job) && owesLastControl(job));
}

/** Whether a control was bad, and the items it made suspect still have to be reopened. */
function mustReopen(job: Controlled): boolean {
  return job.controls !== undefined && job.controls.suspect !== null;
}

/** The tally of the job starts over, or its user continues it: the next control must be good first. */
export function controlsAgain({ controls }: Pick<Controlled, 'controls'>): Pick<Controlled, 'controls'> {
  return controls === undefined ? {} : { controls: owing(controls) };
}

export function applyControl<Job extends ControlledJob>(
  job: Job,
  event: ControlEvent,
  slots: number,
  now: number,
): Job | Refusal {
  const state = stateOf(job);
  switch (event.kind) {
    case 'send-control': {
      const isHeld = job.status === 'pending' && job.held;
      if (isHeld || (job.status !== 'in_progress' && job.status !== 'pending')) {
        return { refused: 'the job does not run' };
      }
      if (mustReopen(job) || controlStep(job, slots, now).kind !== 'send') return { refused: 'no control is due' };
      const { finished, missed } = job.tally;
      const started = { status: 'in_progress', startedAt: job.startedAt ?? now } as const;
      return { ...job, ...started, controls: whenSent(state, { finished, missed }, now) };
    }
    case 'control':
      return applyReport(job, state, event.report, now);
    case 'negatives-reopened': {
      if (!mustReopen(job)) return { refused: 'nothing is to be reopened' };
      return { ...job, controls: { ...owing(state), suspect: null } };
    }
  }
}

/**
 * A report counts once, and only while it is awaited: a late or repeated one changes nothing. Its usage is added in the
 * same step.
 */
function applyReport<Job extends ControlledJob>(
  job: Job,
  state: ControlState,
  report: ControlReport,
  now: number,
): Job | Refusal {
  const { out } = state;
  if (out === null || out.number !== report.number) return { refused: 'the report of that control is not awaited' };
  if (job.status === 'completed' || job.status === 'cancelled' || isFinishing(job)) {
    return { refused: 'the job is over' };
  }
  const verdict = judgeControl(state, report);
  const controls = whenReported(state, out, report, verdict, now);
  const reported = { ...job, controls, usage: addUsage(job.usage, report.usage) };
  // As for items that a host keeps waiting: nothing goes out before that time.
  if (report.seen.kind === 'held') return { ...reported, waitingFor: waitAfter(job, report.seen, now) };
  const isStopped = verdict.kind === 'bad' || verdict.kind === 'stop';
  // A job that a user or the breaker stopped meanwhile keeps that reason; the suspicion is recorded anyway.
  if (!isStopped || job.status !== 'in_progress') return reported;
  const reason = { code: 'control', message: stoppedMessage(verdict.message, controls), evidence: [] } as const;
  return { ...reported, reason, status: 'paused' };
}

function stoppedMessage(message: string, { suspect, goodAt }: ControlState): string {
  if (suspect === null) return message;
  const since = goodAt === null ? '' : ` since ${new Date(goodAt).toISOString()}`;
  return `${message}. Items that were not found${since} are tried again when the job is resumed`;
}

/** The name under which the current control is sent to workers and claimed. */
export function controlBatchId({ incarnation, controls }: Pick<ControlledJob, 'incarnation' | 'controls'>): string {
  return `${CONTROL}${incarnation}:${controls?.out?.number ?? 0}`;
}

/** Whether it names a control rather than a batch of items. */
export function isControlBatch(batchId: string): boolean {
  return batchId.startsWith(CONTROL);
}

const CONTROL = 'control:';

/** Controls are tried in turn; undefined if the policy no longer has any. */
export function controlItem({ controls }: Policy, number: number): ControlItem | undefined {
  return controls.items[(number - 1) % controls.items.length];
}
