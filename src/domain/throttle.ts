import type { ThrottlingPolicy } from './policy.ts';

/**
 * Adaptive concurrency, additive up and multiplicative down: a refusal (429, 503 with Retry-After, a block) halves the
 * ceiling; as many successes as the ceiling raise it by one. It uses counters, not single outcomes, so that a
 * controller that learns of successes late or in bulk decides the same. Errors never raise it.
 */
export interface Throttle {
  readonly ceiling: number;
  readonly seenRefusals: number;
  readonly seenSuccesses: number;
  /** Finished items when the ceiling was last cut. */
  readonly cutAtFinished: number;
  /** The ceiling before that: this many may have been in flight, and they must not cut it again. */
  readonly cutFrom: number;
}

export interface ThrottleEvidence {
  readonly refusals: number;
  readonly successes: number;
  readonly finished: number;
}

export const FRESH_THROTTLE: Throttle = {
  ceiling: Number.MAX_SAFE_INTEGER,
  seenRefusals: 0,
  seenSuccesses: 0,
  cutAtFinished: 0,
  cutFrom: 0,
};

export function adapt(throttle: Throttle, seen: ThrottleEvidence, policy: ThrottlingPolicy): Throttle {
  const max = policy.max_concurrent_workers;
  const noted = { ...throttle, seenRefusals: seen.refusals, seenSuccesses: seen.successes };
  if (!policy.adaptive) return { ...noted, ceiling: max };

  const current = Math.min(throttle.ceiling, max);
  if (seen.refusals > throttle.seenRefusals) {
    // Fewer finished than at the cut: items were reopened since, so that wave is long over.
    const since = seen.finished - throttle.cutAtFinished;
    if (since >= 0 && since < throttle.cutFrom) return { ...noted, ceiling: current };
    return { ...noted, ceiling: Math.max(1, current / 2), cutAtFinished: seen.finished, cutFrom: current };
  }
  return { ...noted, ceiling: Math.min(max, raised(current, seen.successes - throttle.seenSuccesses)) };
}

/** Going from c to c + 1 takes c successes; on this curve that holds however they are bundled. */
function raised(ceiling: number, successes: number): number {
  return successes <= 0 ? ceiling : 0.5 + Math.sqrt((ceiling - 0.5) ** 2 + 2 * successes);
}
