import { backoffMs, spreadMs } from './backoff.ts';
import { FAILURES, type Failure } from './failure.ts';

/**
 * A host that worked before and now answers with nothing but errors is away: it is left alone for growing pauses, with
 * one request after each. A host that never worked is not away but wrong, or blocks us from the start; that is for the
 * circuit breaker. The first pause is short, so that a server restart costs seconds and needs no rule of its own.
 */
export interface HostOutage {
  /** Whether it has ever given a good answer. */
  readonly hasWorked: boolean;
  /** Failures since the last good answer, and when the first of them came, by a clock that never goes back. */
  readonly failures: number;
  readonly failingSince: number;
  /** Pauses since then. The host is away while there are any. */
  readonly pauses: number;
}

export const NO_OUTAGE: HostOutage = { hasWorked: false, failures: 0, failingSince: 0, pauses: 0 };

/**
 * What an answer says about its host. `there`: only that it exists. `refused`: it wants fewer requests. `away`: it
 * answers no one.
 */
export type HostAnswer = 'good' | 'there' | 'refused' | 'away';

/** This many in a row do not happen by accident at a working site: with 20 % of errors, once in 3,000 requests. */
const FAILURES_OF_AN_OUTAGE = 5;

/** Fewer are enough if they last, so that the item whose tries they are does not fail because of them. */
const FAILURES_THAT_LAST = 3;
const LASTING_MS = 2000;

const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 300_000;

/** What a proxy in front of a site answers while the site is gone. */
const GONE = [502, 503, 504];

/** Null if it says nothing about the host. `status` is null if there was no answer. */
export function hostAnswer({ type }: Pick<Failure, 'type'>, status: number | null): HostAnswer | null {
  if (type === 'rate_limited') return 'refused';
  if (type === 'maintenance' || type === 'network_error' || type === 'timeout') return 'away';
  if (type === 'server_error') return status !== null && GONE.includes(status) ? 'away' : null;
  const { blame } = FAILURES[type];
  return status === null || blame === 'proxy' || blame === 'config' ? null : 'good';
}

export function isAway({ pauses }: HostOutage): boolean {
  return pauses > 0;
}

export function afterGood(outage: HostOutage): HostOutage {
  return outage.hasWorked && outage.failures === 0 ? outage : { ...NO_OUTAGE, hasWorked: true };
}

/** `chance` in [0, 1) spreads the ends of pauses, so that many processes do not ask at the same moment. */
export function afterAway(
  before: HostOutage,
  { now, chance }: { readonly now: number; readonly chance: number },
): { readonly outage: HostOutage; readonly pauseMs: number | null } {
  const { hasWorked, failures, pauses } = before;
  const failingSince = failures === 0 ? now : before.failingSince;
  const counted = { hasWorked, failures: failures + 1, failingSince, pauses };
  const isLasting = counted.failures >= FAILURES_THAT_LAST && now - failingSince >= LASTING_MS;
  const isOutage = pauses > 0 || isLasting || counted.failures >= FAILURES_OF_AN_OUTAGE;
  if (!hasWorked || !isOutage) return { outage: counted, pauseMs: null };
  const pauseMs = Math.round(spreadMs(backoffMs(pauses, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), chance));
  return { outage: { ...counted, pauses: pauses + 1 }, pauseMs };
}
