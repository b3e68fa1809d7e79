import { FAILURES, type Failure, type FailureType, failure } from './failure.ts';

/** The meaning of the answer to a request for `/robots.txt`, by RFC 9309. */

/**
 * The name by which a robots.txt addresses us. Our User-Agent is that of a browser and does not contain it, so a site
 * that wants special rules for us has to use this name.
 */
export const ROBOTS_TOKEN = 'trawl';

/** What RFC 9309 requires a reader to accept at least; nothing after that is read. */
export const MAX_ROBOTS_BYTES = 500 * 1024;

/** What RFC 9309 requires a reader to follow at least. */
export const MAX_ROBOTS_REDIRECTS = 5;

/** RFC 9309 allows a day. One more request an hour costs a site nothing, and its owner sees a change take effect. */
const FRESH_MS = 3_600_000;

/** How long a host is left alone if its robots.txt cannot be read, before it is requested again. */
const UNREACHABLE_MS = 60_000;

/** With a longer delay, items would run out of time while waiting for each other. */
export const MAX_CRAWL_DELAY_MS = 60_000;

export type RobotsAnswer =
  /** `retryAfterMs` is the value of its header; null for none. */
  | { readonly kind: 'answer'; readonly status: number; readonly retryAfterMs: number | null }
  | { readonly kind: 'failed'; readonly failure: Failure };

export type RobotsMeaning =
  /** The file says what is allowed. */
  | { readonly kind: 'rules'; readonly forMs: number }
  /** There is no such file, so everything is allowed. */
  | { readonly kind: 'none'; readonly forMs: number }
  /** Nothing is allowed until it can be read: items fail with this failure and are retried. */
  | { readonly kind: 'unreachable'; readonly failure: Failure; readonly forMs: number };

export function readRobotsAnswer(answer: RobotsAnswer, origin: string): RobotsMeaning {
  if (answer.kind === 'failed') {
    const { type, message, retryAfterMs } = answer.failure;
    // Too many redirects, or one that leads nowhere, count as no file.
    if (type === 'navigation_failed') return { kind: 'none', forMs: FRESH_MS };
    return unreachable(origin, type, message, retryAfterMs);
  }
  const { status, retryAfterMs } = answer;
  if (status >= 200 && status < 300) return { kind: 'rules', forMs: FRESH_MS };
  // The only 4xx that says nothing about the file, only that we should come back later.
  if (status === 429) return unreachable(origin, 'rate_limited', `status ${status}`, retryAfterMs);
  if (status >= 500) return unreachable(origin, 'server_error', `status ${status}`, retryAfterMs);
  return { kind: 'none', forMs: FRESH_MS };
}

function unreachable(origin: string, type: FailureType, why: string, retryAfterMs: number | null): RobotsMeaning {
  // A proxy failure says nothing about the site: the next item asks again.
  const { blame } = FAILURES[type];
  const forMs = blame === 'proxy' || blame === 'config' ? 0 : Math.max(UNREACHABLE_MS, retryAfterMs ?? 0);
  const message = `${origin}/robots.txt cannot be read, so nothing there may be requested for now: ${why}`;
  return { kind: 'unreachable', failure: failure(type, message), forMs };
}

/** The delay between two requests that a robots.txt asks for in seconds; 0 for none. */
export function crawlDelayMs(seconds: number | undefined): number {
  if (seconds === undefined || !(seconds > 0)) return 0;
  return Math.min(seconds * 1000, MAX_CRAWL_DELAY_MS);
}
