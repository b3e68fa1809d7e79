import type { BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import type { Policy } from '../../domain/policy.ts';
import type { BrowserVisit } from '../../egress/browser/browser-visit.ts';

/** How the requests of pages go out: through the egress, or to recorded answers. */
export interface BrowserWays {
  /** `options` are those that the context would have by the policy alone. */
  open(visit: BrowserVisit, policy: Policy, options: BrowserContextOptions): Promise<ContextWay>;
}

/** The way out of one context. */
export interface ContextWay {
  /** The options with which the context must be created: the given ones, as far as they still apply, and its proxy. */
  readonly options: BrowserContextOptions;
  /** Called once, before the context has a page. */
  prepare(context: BrowserContext): Promise<void>;
  /** Called for each page before anything is done with it, and for each pop-up as soon as it is known. */
  guard(page: Page, isPopup: boolean): Promise<PageLine>;
  /** Why the last requested document did not arrive, if we or the network caused it; null otherwise. */
  refusal(): Error | null;
  /** Aborts when the visit has received more than it may; another one for each visit. */
  readonly exceeded: AbortSignal;
  /** Everything from now on belongs to another visit. */
  next(visit: BrowserVisit): Promise<void>;
  /** Called after the context is closed. Never rejects. */
  close(): Promise<void>;
}

/** A line to a page by CDP, which is opened to guard it. It lasts as long as the page: each further one costs a millisecond. */
export interface PageLine {
  readonly session: CDPSession;
  /** Of the page itself, in all of its documents. */
  readonly mainFrame: string;
}
