import type { Failure, FailureType } from './failure.ts';

/** What the gate says about the host of a failed try. */
export interface HostStanding {
  /** How much longer the host is paused. */
  readonly pauseMs: number;
  /** Whether the host is paused because it is away, rather than at its own request. */
  readonly isAway: boolean;
  /** Whether a request reached the host: one that the gate did not let in did not. */
  readonly wasAsked: boolean;
}

/** Failures that any item would have met at that moment. */
const OF_THE_HOST: readonly FailureType[] = ['timeout', 'network_error', 'server_error', 'maintenance', 'rate_limited'];

export function isOfTheHost({ type }: Pick<Failure, 'type'>): boolean {
  return OF_THE_HOST.includes(type);
}

/**
 * Whether an item goes back uncharged after a failed try, because its host is paused: the request was not let in, the
 * host is away, or it asked for more time than the item has left. Everything else is decided as if there were no pause.
 */
export function isHeldByHost(failure: Failure, standing: HostStanding | null, remainingMs: number): boolean {
  if (standing === null || !isOfTheHost(failure)) return false;
  if (!standing.wasAsked || standing.isAway) return true;
  return failure.type === 'rate_limited' && standing.pauseMs >= remainingMs;
}
