/**
 * Retries are at most a fifth of the requests that a host gets: a host that fails under its load must not be given
 * several times that load. Each request earns part of a retry, and a retry costs a whole one. A few are available from
 * the start, because a fifth of a few requests is none.
 */
export interface RetryBudget {
  readonly retries: number;
}

export const FRESH_BUDGET: RetryBudget = { retries: 10 };

/** At most one of five requests is a retry. */
const EARNED_PER_REQUEST = 0.2;

const MOST_SAVED = 20;

export function withFirstRequest({ retries }: RetryBudget): RetryBudget {
  return { retries: Math.min(MOST_SAVED, retries + EARNED_PER_REQUEST) };
}

/** Null if there is none left. The retry itself counts as a request and earns its part, so it costs that much more. */
export function withRetry({ retries }: RetryBudget): RetryBudget | null {
  return retries < 1 ? null : { retries: retries - 1 - EARNED_PER_REQUEST };
}
