import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';

/** Where browsers come from: this machine, any endpoint that speaks CDP, or Browserbase. */
const BROWSER_PROVIDERS = ['local', 'cdp', 'browserbase'] as const;

export type BrowserProviderName = (typeof BROWSER_PROVIDERS)[number];

export interface BrowserProvider {
  readonly name: BrowserProviderName;
  /**
   * A new browser, ready for use. Rejects with BrowserUnavailable, or with the signal's reason if that aborts first. In
   * both cases nothing that was started remains, and a remote session that was created is released.
   */
  open(options: BrowserOptions, signal: AbortSignal): Promise<BrowserSession>;
  /**
   * Ends what earlier processes of ours left behind when they died: browsers, temporary files, remote sessions. It does
   * not touch what living processes use, and returns how many sessions it ended.
   */
  sweep(signal: AbortSignal): Promise<number>;
  /** Closes all sessions that are still open, and leaves nothing of them behind. */
  close(): Promise<void>;
}

export interface BrowserOptions {
  /** Local browsers only: a remote one has no window. */
  readonly headless: boolean;
  /** Local browsers only: a pause before each step, so that a person can follow; 0 for none. */
  readonly slowMs: number;
  /** Time limit for starting the browser or connecting to it. */
  readonly openMs: number;
  /** Arguments for a local Chromium, in addition to our own. */
  readonly args: readonly string[];
  /** For the whole browser. A context may have another one. Browserbase has its own proxies and ignores this. */
  readonly proxy: BrowserProxy | null;
  /** What a remote service stores with the session: job, worker … It is visible to everyone who may list sessions. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** In separate fields: Chromium ignores credentials in the address of a proxy. */
interface BrowserProxy {
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
   * Playwright's own object. Its calls have no deadlines of ours: a frozen browser never answers `newContext` or
   * `evaluate`, and a `newPage` under way when the browser is killed may never be rejected. Race them with a deadline
   * and with `gone`.
   */
  readonly browser: Browser;
  /**
   * `own`: each context is separate from all others. `shared`: there is only the one that the browser came with, so a
   * session serves one item at a time, and options of a context do not apply.
   */
  readonly contexts: 'own' | 'shared';
  /** Ids of its processes on this machine, the main one first. Empty if it is remote or has ended. */
  pids(): readonly number[];
  /** The memory its processes use on this machine. Null if it is remote. */
  memoryBytes(): number | null;
  /**
   * Aborts once the browser has ended or the connection is lost, for whatever reason; the signal's reason is an Error
   * that explains it.
   */
  readonly gone: AbortSignal;
  /** Whether it answers within `ms`. Never rejects. */
  isHealthy(ms: number): Promise<boolean>;
  /**
   * Asks the browser to close, and kills it if it has not closed within a few seconds. When this resolves, its
   * processes and files are gone, or the remote service was asked to release it. Never rejects; closing twice is
   * harmless.
   */
  close(): Promise<void>;
  /** The same without asking first. */
  kill(): Promise<void>;
}

/**
 * The browsers of a worker process as its scrapers see them: one context per item, in one of a few browsers that are
 * kept open between items.
 */
export interface BrowserContexts {
  /**
   * Waits until there is room, opens a browser if none has room, and resolves to a new context for one item. Rejects
   * with BrowserUnavailable, or with the signal's reason if that aborts first.
   */
  open(options: BrowserContextOptions, signal: AbortSignal): Promise<ContextLease>;
}

export interface ContextLease {
  readonly session: BrowserSession;
  readonly context: BrowserContext;
  /**
   * Gives the context back: closes it with all of its pages, and resolves within our own deadline whatever the browser
   * does. After `spoilt`, the browser is not used for further items: it hangs or has crashed. Never rejects; repeating
   * it is harmless.
   */
  release(end: LeaseEnd): Promise<void>;
}

/** How the item went: `failed` counts as an error of the session. */
export type LeaseEnd = 'done' | 'failed' | 'spoilt';

/**
 * `busy`: all sessions that we may have are in use; try again later. `misconfigured`: no browser, a bad key, a plan
 * that does not include it; trying again does not help. `failed`: anything else, such as a start that took too long.
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
