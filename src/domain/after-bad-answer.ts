import { backoffMs } from './backoff.ts';
import { FAILURES, type Failure } from './failure.ts';
import type { TroubleRate } from './host-trouble.ts';

/** What to do after a single failed request: send it again in the same session, or let the item fail. */
export type AfterBadAnswer =
  | { readonly kind: 'repeat'; readonly delayMs: number }
  /** `pauseMs`: how long no request may go to the host; null if only this request is affected. */
  | { readonly kind: 'fail'; readonly pauseMs: number | null };

export interface BadAnswer {
  readonly failure: Failure;
  readonly method: string;
  /** Null when there was none. */
  readonly status: number | null;
  /** The connection was lost before the answer was complete. */
  readonly isLost: boolean;
  /** How often this request has already been repeated. */
  readonly repeats: number;
  /** How common bad answers are at this host. */
  readonly trouble: TroubleRate;
}

/** A host that asks for a longer pause wants to be left alone; a restart or a full queue takes a second or two. */
const SHORT_PAUSE_MS = 5000;

const MAX_REPEATS = 2;
const FIRST_DELAY_MS = 250;

/** What a proxy in front of a site answers while the site is restarting. A plain 500 is the site's own error. */
const PASSING = [502, 503, 504];

/** `maxRetries` is the job's. A user who wants no retries gets none of these either. */
export function afterBadAnswer(bad: BadAnswer, maxRetries: number): AfterBadAnswer {
  const { failure, repeats, trouble } = bad;
  const askedMs = failure.retryAfterMs ?? 0;
  const isShort = askedMs <= SHORT_PAUSE_MS;
  if (isShort && trouble === 'rare' && repeats < Math.min(MAX_REPEATS, maxRetries) && mayPass(bad)) {
    return { kind: 'repeat', delayMs: Math.max(askedMs, backoffMs(repeats, FIRST_DELAY_MS)) };
  }
  if (!FAILURES[failure.type].refusal) return { kind: 'fail', pauseMs: null };
  // Only this item waits. A pause for all would stop a hundred good requests because of one bad answer.
  const isOwnAffair = failure.type === 'rate_limited' && isShort && trouble === 'rare';
  return { kind: 'fail', pauseMs: isOwnAffair ? null : failure.retryAfterMs };
}

/**
 * Whether the answer means that the host is overloaded or away. A page that does not exist says nothing about the host;
 * a plain 500 is about one page, and a 401 about an expired token. None of these may make other bad answers look
 * frequent.
 */
export function speaksAgainstHost({ failure, status }: Pick<BadAnswer, 'failure' | 'status'>): boolean {
  if (failure.type === 'server_error') return status !== null && PASSING.includes(status);
  return (FAILURES[failure.type].refusal && status !== 401) || failure.type === 'network_error';
}

/** Whether the same request may well succeed next time, and is safe to send twice. */
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
