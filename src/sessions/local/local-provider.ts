import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type LaunchOptions } from 'playwright-core';
import { errorMessage } from '../../domain/error-message.ts';
import {
  type BrowserOptions,
  type BrowserProvider,
  type BrowserSession,
  BrowserUnavailable,
} from '../../ports/browser-provider.ts';
import type { Clock } from '../../ports/clock.ts';
import { within } from '../../ports/within.ts';
import type { Chromium } from '../chromium/prove-chromium.ts';
import { endLocally, LocalSession } from './local-session.ts';
import { SessionFolders } from './session-folders.ts';
import { sparingArgs } from './sparing-args.ts';

const START = fileURLToPath(new URL('./start-chromium', import.meta.url));

interface LocalProviderDeps {
  readonly clock: Clock;
  /** Chooses the Chromium for each start. Rejects with BrowserUnavailable. */
  readonly chromium: (wants: { readonly window: boolean }) => Promise<Chromium>;
  /** Where profiles and downloads of open browsers are. */
  readonly temporaryDir: string;
}

/** Starts Chromium on this machine. Nothing that it starts outlives this process: neither browsers nor their files. */
export class LocalProvider implements BrowserProvider {
  readonly name = 'local';
  readonly #deps: LocalProviderDeps;
  readonly #folders: SessionFolders;
  readonly #open = new Set<BrowserSession>();

  constructor(deps: LocalProviderDeps) {
    this.#deps = deps;
    this.#folders = new SessionFolders(deps.temporaryDir);
  }

  async open(options: BrowserOptions, signal: AbortSignal): Promise<BrowserSession> {
    signal.throwIfAborted();
    const { clock } = this.#deps;
    const found = await this.#deps.chromium({ window: !options.headless });
    const folder = await this.#folders.make();
    try {
      const browser = await this.#start(found, folder, options, signal);
      const session = new LocalSession(clock.id(), browser, folder, clock);
      this.#open.add(session);
      session.gone.addEventListener('abort', () => this.#open.delete(session), { once: true });
      return session;
    } catch (error) {
      await endLocally(folder, clock);
      signal.throwIfAborted();
      throw error;
    }
  }

  async #start(found: Chromium, folder: string, options: BrowserOptions, signal: AbortSignal): Promise<Browser> {
    signal.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      const started = chromium.launch(launchOptions(found, folder, options));
      // An abandoned start is ended with its folder, and then rejects.
      started.catch(() => {});
      const late = () => new BrowserUnavailable('failed', `Chromium did not start within ${options.openMs} ms`);
      const browser = await Promise.race([within(this.#deps.clock, options.openMs, started, late), aborted]);
      if (browser instanceof BrowserUnavailable) throw browser;
      return browser;
    } catch (error) {
      if (error instanceof BrowserUnavailable || signal.aborted) throw error;
      const [first = ''] = errorMessage(error).split('\n');
      throw new BrowserUnavailable('failed', `Chromium could not be started: ${first}`, { cause: error });
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  sweep(): Promise<number> {
    return this.#folders.sweep();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((session) => session.close()));
    await this.#folders.close();
  }
}

function launchOptions(
  found: Chromium,
  folder: string,
  { headless, slowMs, openMs, args, proxy }: BrowserOptions,
): LaunchOptions {
  const { path, sandbox } = found;
  return {
    executablePath: START,
    args: [`--trawl-session=${folder}`, `--trawl-chromium=${path}`, ...sparingArgs({ sandbox, headless }), ...args],
    headless,
    slowMo: slowMs,
    chromiumSandbox: sandbox,
    timeout: openMs,
    // Downloads and traces, until they are fetched.
    ...{ artifactsDir: folder, tracesDir: folder },
    ...(proxy === null ? {} : { proxy }),
    // Playwright's own would close the browser at the first SIGTERM, in the middle of items that may be finished.
    ...{ handleSIGHUP: false, handleSIGINT: false, handleSIGTERM: false },
  };
}
