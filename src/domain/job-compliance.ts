import type { Worst } from './compliance.ts';
import type { HostLimits } from './host-settings.ts';
import type { ThrottlingPolicy } from './policy.ts';
import { totalUsage, type Usage } from './usage.ts';

/** What a job did at one host. */
export interface HostConduct {
  readonly host: string;
  readonly requests: number;
  readonly worst: Worst;
}

/** How often the host refused a job. */
export interface Refusals {
  /** Share of requests that were answered with status 429. */
  readonly share429: number;
  /** The same for status 403. */
  readonly share403: number;
}

/** From the usage of the job's attempts; null for a host without its own row there. */
export function refusalsAt(host: string, usage: Usage): Refusals | null {
  const { requests, refused, blocked } = totalUsage(usage.filter((row) => row.host === host));
  return requests === 0 ? null : { share429: refused / requests, share403: blocked / requests };
}

/** The limits of the job at that host; null for no limit. */
export interface ConductLimits {
  readonly concurrent: number | null;
  readonly perSecond: number | null;
  readonly gapMs: number | null;
}

/** Which limit was exceeded. */
export type Excess = 'concurrency' | 'rate' | 'gap' | 'pause';

/** A host's limits apply to all jobs together, so they are limits for each of them. */
export function conductLimits(
  { max_concurrent_workers, max_requests_per_second }: ThrottlingPolicy,
  host: HostLimits,
): ConductLimits {
  return {
    concurrent: least(max_concurrent_workers, host.maxConcurrent),
    perSecond: least(max_requests_per_second, host.requestsPerSecond),
    gapMs: host.minDelayMs !== null && host.minDelayMs > 0 ? host.minDelayMs : null,
  };
}

/** Reports only what is certain: two processes may have had their busiest moments one after the other. */
export function excessesOf({ worst }: Pick<HostConduct, 'worst'>, limits: ConductLimits): readonly Excess[] {
  const excesses: Excess[] = [];
  if (limits.concurrent !== null && worst.atLeastConcurrent > limits.concurrent) excesses.push('concurrency');
  if (limits.perSecond !== null && worst.perTenSeconds > mostInTenSeconds(limits.perSecond)) excesses.push('rate');
  if (limits.gapMs !== null && worst.gapMs !== null && worst.gapMs < limits.gapMs - CLOCK_MS) excesses.push('gap');
  if (worst.duringPause > 0) excesses.push('pause');
  return excesses;
}

/**
 * One request may fall on either side of the ten seconds, and shares of a limit that move between processes cost 5 %.
 */
function mostInTenSeconds(perSecond: number): number {
  return perSecond * 10 * 1.05 + 1;
}

/** The precision of a wall clock read in whole milliseconds, on both sides of the gap. */
const CLOCK_MS = 2;

/** For a job with more hosts, those with the most requests are kept. */
export const MAX_CONDUCT_HOSTS = 100;

export interface JobConduct {
  readonly hosts: readonly HostConduct[];
  /** Hosts that are not listed. */
  readonly omitted: number;
}

/** By requests, most first. */
export function jobConduct(hosts: readonly HostConduct[]): JobConduct {
  const sorted = hosts.toSorted((a, b) => b.requests - a.requests || (a.host < b.host ? -1 : 1));
  const kept = sorted.slice(0, MAX_CONDUCT_HOSTS);
  return { hosts: kept, omitted: sorted.length - kept.length };
}

function least(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
