import { backoffMs, spreadMs } from './backoff.ts';
import { FAILURES, type Failure, isRetryable } from './failure.ts';
import type { RetryPolicy } from './policy.ts';

/** What to do about a failed try: give up, or try again after a while, perhaps with another identity. */
export type Decision =
  | { readonly kind: 'give-up'; readonly because: 'not-retryable' | 'retries-used-up' | 'no-time-left' }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly identity: 'keep' | 'new' | 'new-proxy-session' };

interface TrySoFar {
  /** 1 for the first try. */
  readonly tries: number;
  /** Earlier tries that failed because of the proxy. */
  readonly proxyFaults: number;
  /** What is left of the item's time. */
  readonly remainingMs: number;
}

/**
 * A failing proxy says nothing about the item, so it does not use up the retries that the policy allows. The number is
 * limited anyway: otherwise a broken proxy would keep an item busy until its time runs out.
 */
export const MAX_PROXY_RETRIES = 5;

/** `chance` is in [0, 1): it spreads retries, so that items which failed together do not come back together. */
export function afterAttempt(so: TrySoFar, failure: Failure, policy: RetryPolicy, chance: number): Decision {
  if (!isRetryable(failure.type)) return { kind: 'give-up', because: 'not-retryable' };
  const isProxys = isProxyFault(failure);
  // Proxy failures and other failures are counted separately.
  const tries = isProxys ? so.proxyFaults + 1 : so.tries - so.proxyFaults;
  const retries = isProxys ? MAX_PROXY_RETRIES : policy.max_retries;
  if (tries > retries) return { kind: 'give-up', because: 'retries-used-up' };

  const delayMs = retryDelayMs(tries, failure, policy, chance);
  // A retry that the item's deadline would cut off proves nothing and costs the site a request.
  if (delayMs >= so.remainingMs) return { kind: 'give-up', because: 'no-time-left' };

  const { retry } = FAILURES[failure.type];
  const identity = retry === 'new-identity' ? 'new' : retry === 'new-proxy-session' ? 'new-proxy-session' : 'keep';
  return { kind: 'retry', delayMs, identity };
}

export function isProxyFault({ type }: Pick<Failure, 'type'>): boolean {
  return FAILURES[type].blame === 'proxy';
}

/** 1 s, 2 s, 4 s … (or 1, 2, 3 …) times the factor, never above the limit, then the upper half of it at random. */
function retryDelayMs(tries: number, failure: Failure, policy: RetryPolicy, chance: number): number {
  const longest = policy.max_backoff_seconds * 1000;
  const first = policy.backoff_factor * 1000;
  const nominal =
    policy.backoff_strategy === 'exponential' ? backoffMs(tries - 1, first, longest) : Math.min(longest, tries * first);
  const base = FAILURES[failure.type].retry === 'late' ? longest : nominal;
  const jittered = spreadMs(base, chance);
  // The delay that the site asked for is a lower bound and overrides our own limit: asking sooner only prolongs the
  // refusal.
  return Math.round(Math.max(jittered, failure.retryAfterMs ?? 0));
}
