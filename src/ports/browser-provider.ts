import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';

/** Where browsers come from: this machine, any endpoint that speaks CDP, or Browserbase. */
export const BROWSER_PROVIDERS = ['local', 'cdp', 'browserbase'] as const;

export type BrowserProviderName = (typeof BROWSER_PROVIDERS)[number];

export interface BrowserProvider {
  readonly name: BrowserProviderName;
  /**
   * A new browser, ready for use. Rejects with BrowserUnavailable, and with the signal's reason when that aborts first. In
   * either case nothing is left of what was begun, and a remote session that was created is released.
   */
  open(options: BrowserOptions, signal: AbortSignal): Promise<BrowserSession>;
  /**
   * Ends what earlier processes of ours could not, because they died: browsers, temporary files, remote sessions. It
   * leaves alone what living processes use, and answers how many sessions it ended.
   */
  sweep(signal: AbortSignal): Promise<number>;
  /** Closes all sessions that are still open. Afterwards nothing of them is left. */
  close(): Promise<void>;
}

export interface BrowserOptions {
  /** Of a local browser. A remote one has no window. */
  readonly headless: boolean;
  /** Of a local browser: pause before each step, so that a person can follow; 0 for none. */
  readonly slowMs: number;
  /** For the start of a browser, or the way to it. */
  readonly openMs: number;
  /** Arguments of a local Chromium, besides our own. */
  readonly args: readonly string[];
  /** For the whole browser. A context may have another one. Browserbase has proxies of its own, and ignores this. */
  readonly proxy: BrowserProxy | null;
  /** What a remote service keeps with the session: job, worker … It is shown to whoever may list sessions. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** In separate fields: Chromium ignores credentials in the address of a proxy. */
export interface BrowserProxy {
  readonly server: string;
  readonly username?: string;
  readonly password?: string;
  readonly bypass?: string;
}

/** A browser that is held open. */
export interface BrowserSession {
  readonly id: string;
  readonly provider: BrowserProviderName;
  /**
   * Playwright's own. Its calls have no deadlines of ours: a frozen browser never answers `newContext` or `evaluate`, and a
   * `newPage` that was under way when the browser was killed may never be rejected. Race them with a deadline and with `gone`.
   */
  readonly browser: Browser;
  /**
   * `own`: each context is separate from all others. `shared`: there is only the one that the browser came with, so that a
   * session is good for one item at a time, and options of a context do not apply.
   */
  readonly contexts: 'own' | 'shared';
  /** Ids of its processes on this machine, the main one first. Empty if it is remote or has ended. */
  pids(): readonly number[];
  /** What its processes use of this machine's memory. Null if it is remote. */
  memoryBytes(): number | null;
  /** Aborts once the browser has ended or the connection is lost, whoever ended it; the reason is an Error that says why. */
  readonly gone: AbortSignal;
  /** Whether it answers within `ms`. Never rejects. */
  isHealthy(ms: number): Promise<boolean>;
  /**
   * Asks the browser to close, and kills it if it has not within a few seconds. When this resolves, its processes and files
   * are gone, or the remote service was told to release it. Never rejects; closing twice is harmless.
   */
  close(): Promise<void>;
  /** The same without asking. */
  kill(): Promise<void>;
}

/**
 * The browsers of a worker process, as its scrapers see them: a context for each item, in one of a few browsers that are
 * kept open between items.
 */
export interface BrowserContexts {
  /**
   * Waits until there is room, opens a browser if none has any, and answers a context of its own for one item. Rejects with
   * BrowserUnavailable, and with the signal's reason when that aborts first.
   */
  open(options: BrowserContextOptions, signal: AbortSignal): Promise<ContextLease>;
}

export interface ContextLease {
  readonly session: BrowserSession;
  readonly context: BrowserContext;
  /**
   * Gives the context back: closes it with all of its pages, and resolves by our own clock whatever the browser does. After
   * `spoilt` the browser is not used for further items: it hangs, or has crashed. Never rejects; once is enough.
   */
  release(end: LeaseEnd): Promise<void>;
}

/** How it went: `failed` counts as an error of the session. */
export type LeaseEnd = 'done' | 'failed' | 'spoilt';

/**
 * `busy`: all sessions that we may have are in use; try again later. `misconfigured`: no browser, a bad key, a plan that
 * does not include it; trying again is of no use. `failed`: anything else, such as a start that took too long.
 */
export type UnavailableReason = 'busy' | 'misconfigured' | 'failed';

export class BrowserUnavailable extends Error {
  readonly reason: UnavailableReason;
  /** How long the service asked us to wait; null if it did not. */
  readonly retryAfterMs: number | null;

  constructor(
    reason: UnavailableReason,
    message: string,
    more: { retryAfterMs?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.name = 'BrowserUnavailable';
    this.reason = reason;
    this.retryAfterMs = more.retryAfterMs ?? null;
  }
}
