import type { BrowserContexts } from '../../ports/browser-provider.ts';
import type { Clock } from '../../ports/clock.ts';
import type { BrowserWays } from './context-way.ts';
import type { KeptContexts } from './kept-contexts.ts';
import type { Suspects } from './suspects.ts';

/** What a worker of the lane `browser` lends to its scrapers, besides what all of them get. */
export interface BrowserTools {
  readonly contexts: BrowserContexts;
  readonly ways: BrowserWays;
  readonly suspects: Suspects;
  readonly kept: KeptContexts;
  /** Real time, whatever time it is for the scraper: a browser has no other. */
  readonly clock: Pick<Clock, 'sleep'>;
}
