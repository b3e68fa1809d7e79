import { FAILURES, type Failure, type FailureType, failure } from './failure.ts';

/** What the answer to a request for `/robots.txt` means, by RFC 9309. */

/**
 * The name under which a robots.txt addresses us. What we send as User-Agent is that of a browser and has no such name, so a
 * site that wants other rules for us than for everybody has to be told this one.
 */
export const ROBOTS_TOKEN = 'trawl';

/** What RFC 9309 asks a reader to accept at least; nothing behind it is read. */
export const MAX_ROBOTS_BYTES = 500 * 1024;

/** What RFC 9309 asks a reader to follow at least. */
export const MAX_ROBOTS_REDIRECTS = 5;

/** RFC 9309 allows a day. One more request an hour costs a site nothing, and its owner sees a change take effect. */
const FRESH_MS = 3_600_000;

/** How long a host is left alone whose robots.txt cannot be had, before it is asked for again. */
const UNREACHABLE_MS = 60_000;

/** A longer delay would let items run out of time while they wait for each other. */
export const MAX_CRAWL_DELAY_MS = 60_000;

export type RobotsAnswer =
  /** `retryAfterMs`: as its header asks; null for none. */
  | { readonly kind: 'answer'; readonly status: number; readonly retryAfterMs: number | null }
  | { readonly kind: 'failed'; readonly failure: Failure };

export type RobotsMeaning =
  /** The file says what is allowed. */
  | { readonly kind: 'rules'; readonly forMs: number }
  /** There is no such file, and everything is allowed. */
  | { readonly kind: 'none'; readonly forMs: number }
  /** Nothing is allowed until it can be read: items fail like this, and are tried again. */
  | { readonly kind: 'unreachable'; readonly failure: Failure; readonly forMs: number };

export function readRobotsAnswer(answer: RobotsAnswer, origin: string): RobotsMeaning {
  if (answer.kind === 'failed') {
    const { type, message, retryAfterMs } = answer.failure;
    // More redirects than it must be followed through, or one that leads nowhere, count as no file.
    if (type === 'navigation_failed') return { kind: 'none', forMs: FRESH_MS };
    return unreachable(origin, type, message, retryAfterMs);
  }
  const { status, retryAfterMs } = answer;
  if (status >= 200 && status < 300) return { kind: 'rules', forMs: FRESH_MS };
  // The only 4xx that says nothing about the file, but that we are to come back later.
  if (status === 429) return unreachable(origin, 'rate_limited', `status ${status}`, retryAfterMs);
  if (status >= 500) return unreachable(origin, 'server_error', `status ${status}`, retryAfterMs);
  return { kind: 'none', forMs: FRESH_MS };
}

function unreachable(origin: string, type: FailureType, why: string, retryAfterMs: number | null): RobotsMeaning {
  // A proxy's fault says nothing about the site: the next item asks again.
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
