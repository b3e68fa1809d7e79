import type { Batching } from './batching.ts';
import type { Counts } from './counts.ts';
import { isDue } from './due.ts';
import { MAX_PAUSE_MS } from './host-pause.ts';
import type { JobStatus } from './job-steps.ts';
import type { Policy } from './policy.ts';

/**
 * A job that waits for a host: the host asked for more time than an item may take, or it is away. Its items came back
 * uncharged, and nothing is dispatched before `until`; where batches are made by group, only what came back waits
 * (`waitsByBatch`). The job stays `in_progress`.
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
  /** Only where batches are made by group. */
  readonly held?: HeldItems;
}

/** What came back in the waits that followed each other until this one. */
interface HeldItems {
  /** Items that came back before are not held any more. */
  readonly from: number;
  /** Batches that came back one after another, without a success of the job. */
  readonly batches: number;
  /** When the last of them did. */
  readonly lastAt: number;
}

/** Why a worker returns items: it must not visit this host before `until`. */
export interface HeldBack {
  readonly host: string;
  readonly until: number;
  readonly reason: string;
}

/** The job's row is written with every settle, so what is stored in it must be short. */
export const MAX_WAIT_TEXT = 120;

/** An item that came back because of a host, in a job whose batches are made by group. */
export interface ItemHold {
  readonly at: number;
  readonly until: number;
}

interface WaitingJob {
  readonly waitingFor?: WaitingFor;
  readonly batching?: Batching;
  readonly counts: Counts;
  readonly status: JobStatus;
  readonly policy: Policy;
}

/** The wait of a job whose items came back; of two waits in force, the one that ends later is kept. */
export function waitAfter(
  job: Pick<WaitingJob, 'waitingFor' | 'counts' | 'batching'>,
  { host, until, reason }: HeldBack,
  now: number,
): WaitingFor {
  const known = job.waitingFor;
  const end = Math.min(until, now + MAX_PAUSE_MS);
  const isLonger = known !== undefined && isInForce(known, now) && known.until >= end;
  if (isLonger && job.batching === undefined) return known;
  const { success } = job.counts;
  const since = known !== undefined && known.successes === success ? known.since : now;
  const held = job.batching === undefined ? {} : { held: heldAfter(job, now) };
  if (isLonger) return { ...known, since, successes: success, ...held };
  const short = (text: string) => text.slice(0, MAX_WAIT_TEXT).toWellFormed();
  return { host: short(host), until: end, reason: short(reason), at: now, since, successes: success, ...held };
}

function heldAfter({ waitingFor, counts }: Pick<WaitingJob, 'waitingFor' | 'counts'>, now: number): HeldItems {
  const known = waitingFor?.held;
  const isInRow = waitingFor?.successes === counts.success && now - (known?.lastAt ?? now) < LOOK_AGAIN_MS;
  // Workers' clocks differ, and what comes back now must be held, too.
  const from = waitingFor !== undefined && isInForce(waitingFor, now) ? Math.min(now, known?.from ?? now) : now;
  return { from, batches: isInRow ? (known?.batches ?? 0) + 1 : 1, lastAt: now };
}

/**
 * When a job whose batches wait one by one may dispatch more; null if that is now. After so many batches in a row came
 * back, the next ones probably visit the same host, and each trip through the queue costs something.
 */
export function triesAgainAt({ waitingFor, counts }: WaitingJob, now: number): number | null {
  const held = waitingFor?.held;
  if (held === undefined || held.batches < MAX_HELD_IN_A_ROW || waitingFor?.successes !== counts.success) return null;
  const at = held.lastAt + LOOK_AGAIN_MS;
  return isDue(at, now, LOOK_AGAIN_MS) ? null : at;
}

/** Several times as many as most jobs have in flight. */
export const MAX_HELD_IN_A_ROW = 200;

export const LOOK_AGAIN_MS = 30_000;

/**
 * Whether only the items that came back wait while others of the job go out: batches by group visit different hosts. A
 * job with control items waits as a whole, because it must not go on while none of them can be tried.
 */
export function waitsByBatch({ batching, policy }: Pick<WaitingJob, 'batching' | 'policy'>): boolean {
  return batching !== undefined && policy.controls.items.length === 0;
}

/** The hold of items that came back; null in a job that waits as a whole. */
export function holdAfter(
  { batching }: Pick<WaitingJob, 'batching'>,
  { until }: HeldBack,
  now: number,
): ItemHold | null {
  return batching === undefined ? null : { at: now, until: Math.min(until, now + MAX_PAUSE_MS) };
}

/** Holds made at or after this time are in force (`isHeld`); null if none is. */
export function holdsFrom(job: WaitingJob, now: number): number | null {
  const wait = waitsByBatch(job) ? currentWait(job, now) : null;
  return wait === null ? null : (wait.held?.from ?? wait.at);
}

export function isHeld(hold: ItemHold | null, from: number | null, now: number): boolean {
  return hold !== null && from !== null && hold.at >= from && now < hold.until;
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

/** Whether a host has kept the job waiting that long. A job that goes on with other batches waits only while none succeeds. */
export function hasWaitedTooLong(job: WaitingJob, now: number): boolean {
  const wait = currentWait(job, now);
  if (wait === null || now < patienceEndsAt(job, wait)) return false;
  return !waitsByBatch(job) || job.counts.success === wait.successes;
}

/** Whether lifting the pause of this host may let items of the job go on. */
export function mayWaitFor(job: WaitingJob, host: string): boolean {
  const { waitingFor } = job;
  // Several hosts may hold items of it, and only the one with the longest pause is recorded.
  return waitingFor !== undefined && (waitsByBatch(job) || waitingFor.host === host);
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
