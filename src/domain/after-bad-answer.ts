import { backoffMs } from './backoff.ts';
import { FAILURES, type Failure } from './failure.ts';
import type { TroubleRate } from './host-trouble.ts';

/** What is done about one request that came to nothing: ask again in the same session, or let the item fail. */
export type AfterBadAnswer =
  | { readonly kind: 'repeat'; readonly delayMs: number }
  /** `pauseMs`: for so long no request may go to the host; null if this is the request's own affair. */
  | { readonly kind: 'fail'; readonly pauseMs: number | null };

export interface BadAnswer {
  readonly failure: Failure;
  readonly method: string;
  /** Null when there was none. */
  readonly status: number | null;
  /** The connection was lost before the answer was complete. */
  readonly isLost: boolean;
  /** How often this request was repeated already. */
  readonly repeats: number;
  /** How common bad answers are at this host. */
  readonly trouble: TroubleRate;
}

/** A host that asks for more wants to be left alone; a restart or a full queue takes a second or two. */
export const SHORT_PAUSE_MS = 5000;

const MAX_REPEATS = 2;
const FIRST_DELAY_MS = 250;

/** What a proxy in front of a site says while the site behind it is restarted. A plain 500 is the site's own error. */
const PASSING = [502, 503, 504];

/** `maxRetries`: of the job. A user who wants no retries gets none of these either. */
export function afterBadAnswer(bad: BadAnswer, maxRetries: number): AfterBadAnswer {
  const { failure, repeats, trouble } = bad;
  const askedMs = failure.retryAfterMs ?? 0;
  const isShort = askedMs <= SHORT_PAUSE_MS;
  if (isShort && trouble === 'rare' && repeats < Math.min(MAX_REPEATS, maxRetries) && mayPass(bad)) {
    return { kind: 'repeat', delayMs: Math.max(askedMs, backoffMs(repeats, FIRST_DELAY_MS)) };
  }
  if (!FAILURES[failure.type].refusal) return { kind: 'fail', pauseMs: null };
  // The item waits for that long by itself. A pause for all would stop a hundred good requests because of a bad one.
  const isOwnAffair = failure.type === 'rate_limited' && isShort && trouble === 'rare';
  return { kind: 'fail', pauseMs: isOwnAffair ? null : failure.retryAfterMs };
}

/**
 * Whether it says that the host is overloaded or away. A page that does not exist says nothing about the host; a plain 500
 * is about one page, and a 401 about a token that has expired. None of these may make other bad answers look frequent.
 */
export function speaksAgainstHost({ failure, status }: Pick<BadAnswer, 'failure' | 'status'>): boolean {
  if (failure.type === 'server_error') return status !== null && PASSING.includes(status);
  return (FAILURES[failure.type].refusal && status !== 401) || failure.type === 'network_error';
}

/** Whether the same request may well be answered next time, and may be sent twice without harm. */
function mayPass({ failure, method, status, isLost }: BadAnswer): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  switch (failure.type) {
    case 'rate_limited':
      return failure.retryAfterMs !== null;
    case 'server_error':
      return status !== null && PASSING.includes(status);
    case 'network_error':
      return isLost;
    default:
      return false;
  }
}
