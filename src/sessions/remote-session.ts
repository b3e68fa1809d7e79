import { rm } from 'node:fs/promises';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { errorMessage } from '../domain/error-message.ts';
import { type BrowserProviderName, type BrowserSession, BrowserUnavailable } from '../ports/browser-provider.ts';
import type { Clock } from '../ports/clock.ts';
import { within } from '../ports/within.ts';
import { answersWithin } from './answers-within.ts';

interface ConnectOptions {
  readonly endpoint: string;
  readonly openMs: number;
  /** For downloads until they are fetched. */
  readonly folder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Connects by CDP within `openMs`. A connection that comes later is closed. */
export async function connectByCdp({ endpoint, openMs, folder, clock, signal }: ConnectOptions): Promise<Browser> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  const connecting = chromium.connectOverCDP(endpoint, { timeout: openMs, artifactsDir: folder });
  try {
    const browser = await Promise.race([within(clock, openMs, connecting, () => null), aborted]);
    if (browser !== null) return browser;
    throw new BrowserUnavailable('failed', `no connection to the browser within ${openMs} ms`);
  } catch (error) {
    connecting.then((browser) => browser.close()).catch(() => {});
    if (error instanceof BrowserUnavailable || signal.aborted) throw error;
    // Playwright's message contains the address, and with it the key.
    const why =
      errorMessage(error)
        .split('\n')[0]
        ?.replaceAll(/wss?:\/\/\S+|https?:\/\/\S+/g, 'its address') ?? '';
    throw new BrowserUnavailable('failed', `no connection to the browser: ${why}`);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Closing what we have opened there takes one message each. */
const CLOSE_MS = 3000;
const DISCONNECT_MS = 1000;

interface RemoteDeps {
  readonly clock: Clock;
  readonly folder: string;
  /** Tells the service that the session is no longer needed. Never rejects. */
  readonly release: () => Promise<void>;
}

/** A connected browser elsewhere. Playwright's `close` leaves its pages and processes alone. */
export class RemoteSession implements BrowserSession {
  readonly id: string;
  readonly provider: BrowserProviderName;
  readonly contexts: 'own' | 'shared';
  readonly browser: Browser;
  readonly gone: AbortSignal;
  readonly #deps: RemoteDeps;
  readonly #gone = new AbortController();
  /** What was there before us is not ours to close. */
  readonly #before: ReadonlySet<BrowserContext | Page>;
  #closed: Promise<void> | null = null;
  #ended: Promise<void> | null = null;

  constructor(facts: Pick<BrowserSession, 'id' | 'provider' | 'contexts' | 'browser'>, deps: RemoteDeps) {
    this.id = facts.id;
    this.provider = facts.provider;
    this.contexts = facts.contexts;
    this.browser = facts.browser;
    this.gone = this.#gone.signal;
    this.#deps = deps;
    const contexts = facts.browser.contexts();
    this.#before = new Set([...contexts, ...contexts.flatMap((context) => context.pages())]);
    facts.browser.once('disconnected', () => void this.kill());
    if (!facts.browser.isConnected()) void this.kill();
  }

  pids(): readonly number[] {
    return [];
  }

  memoryBytes(): number | null {
    return null;
  }

  isHealthy(ms: number): Promise<boolean> {
    return answersWithin(this.browser, ms, this.#deps.clock);
  }

  close(): Promise<void> {
    this.#closed ??= this.#closeOwn().then(() => this.kill());
    return this.#closed;
  }

  kill(): Promise<void> {
    if (!this.#gone.signal.aborted) this.#gone.abort(new Error(`the connection of session ${this.id} is closed`));
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #closeOwn(): Promise<void> {
    const opened = this.browser
      .contexts()

      .flatMap((context): (BrowserContext | Page)[] => (this.#before.has(context) ? context.pages() : [context]))
      .filter((each) => !this.#before.has(each));
    const closed = Promise.allSettled(opened.map((each) => each.close()));
    await within(this.#deps.clock, CLOSE_MS, closed, () => {});
  }

  async #end(): Promise<void> {
    const disconnected = this.browser.close().catch(() => {});
    await within(this.#deps.clock, DISCONNECT_MS, disconnected, () => {});
    await this.#deps.release();
    await rm(this.#deps.folder, { recursive: true, force: true }).catch(() => {});
  }
}
