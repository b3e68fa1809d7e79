import type { Counts } from './counts.ts';
import { isDue } from './due.ts';
import { MAX_PAUSE_MS } from './host-pause.ts';
import type { JobStatus } from './job-steps.ts';
import type { Policy } from './policy.ts';

/**
 * A job that waits for a host: the host asked for more time than an item may take, or it is away. Its items came back
 * uncharged, and nothing is dispatched before `until`. The job stays `in_progress`.
 */
export interface WaitingFor {
  readonly host: string;
  readonly until: number;
  /** What the host answered, in words. */
  readonly reason: string;
  /** When it began. */
  readonly at: number;
  /** When the first of these waits began, if no item has succeeded since. */
  readonly since: number;
  /** Successes of the job at that time. */
  readonly successes: number;
}

/** Why a worker returns items: it must not visit this host before `until`. */
export interface HeldBack {
  readonly host: string;
  readonly until: number;
  readonly reason: string;
}

/** The job's row is written with every settle, so what is stored in it must be short. */
export const MAX_WAIT_TEXT = 120;

interface WaitingJob {
  readonly waitingFor?: WaitingFor;
  readonly counts: Counts;
  readonly status: JobStatus;
  readonly policy: Policy;
}

/** The wait of a job whose items came back; of two waits in force, the one that ends later is kept. */
export function waitAfter(
  job: Pick<WaitingJob, 'waitingFor' | 'counts'>,
  { host, until, reason }: HeldBack,
  now: number,
): WaitingFor {
  const known = job.waitingFor;
  const end = Math.min(until, now + MAX_PAUSE_MS);
  if (known !== undefined && isInForce(known, now) && known.until >= end) return known;
  const { success } = job.counts;
  const since = known !== undefined && known.successes === success ? known.since : now;
  const short = (text: string) => text.slice(0, MAX_WAIT_TEXT).toWellFormed();
  return { host: short(host), until: end, reason: short(reason), at: now, since, successes: success };
}

/** Whether a wait is for this host, whose name may have been cut. */
export function sameHost(host: string, ofWait: string): boolean {
  return host.slice(0, MAX_WAIT_TEXT).toWellFormed() === ofWait;
}

/** The wait that keeps the job from being dispatched now; null if there is none. */
export function currentWait({ waitingFor, status }: WaitingJob, now: number): WaitingFor | null {
  if (waitingFor === undefined || (status !== 'in_progress' && status !== 'pending')) return null;
  return isInForce(waitingFor, now) ? waitingFor : null;
}

/** When the job has waited for as long as its policy allows. */
export function patienceEndsAt({ policy }: Pick<WaitingJob, 'policy'>, { since }: WaitingFor): number {
  return since + policy.circuit_breaker.max_wait_seconds * 1000;
}

/** Whether a host has kept the job waiting that long. */
export function hasWaitedTooLong(job: WaitingJob, now: number): boolean {
  const wait = currentWait(job, now);
  return wait !== null && now >= patienceEndsAt(job, wait);
}

/** Whether the wait is over and an item has succeeded since, so that nothing depends on it any more. */
export function isWaitPast({ waitingFor, counts }: Pick<WaitingJob, 'waitingFor' | 'counts'>, now: number): boolean {
  return waitingFor !== undefined && !isInForce(waitingFor, now) && counts.success > waitingFor.successes;
}

/** The record without its wait: the field is absent, not undefined. */
export function withoutWait<Job extends Pick<WaitingJob, 'waitingFor'>>(job: Job): Omit<Job, 'waitingFor'> {
  const { waitingFor: _over, ...rest } = job;
  return rest;
}

/** A clock that was set back since must not prolong the wait. */
function isInForce({ until, at }: WaitingFor, now: number): boolean {
  return !isDue(until, now, Math.max(0, until - at));
}
