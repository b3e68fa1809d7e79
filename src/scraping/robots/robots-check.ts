import type { RobotsVisitor } from './fetch-robots.ts';

/** Whether the robots.txt of a site allows a request. */
export interface RobotsCheck {
  /**
   * Resolves if it does. Rejects with Disallowed if it does not, with a ScrapeFailure if that cannot be known now, with HostHeld
   * if its host is paused, and with the reason of `signal` when that aborts.
   */
  check(url: string, visitor: RobotsVisitor, signal: AbortSignal): Promise<void>;
}

/** For trials and fixtures: an author looks at a page of a site, and crawls none. */
export const UNCHECKED: RobotsCheck = { check: async () => {} };
