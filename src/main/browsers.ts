import { tmpdir } from 'node:os';
import { type Config, laneConfig } from '../config.ts';
import {
  type BrowserContexts,
  type BrowserOptions,
  type BrowserProvider,
  type BrowserProviderName,
  BrowserUnavailable,
} from '../ports/browser-provider.ts';
import type { Clock } from '../ports/clock.ts';
import { BrowserPool } from '../sessions/browser-pool.ts';
import { BrowserbaseProvider } from '../sessions/browserbase/browserbase-provider.ts';
import { CdpProvider } from '../sessions/cdp/cdp-provider.ts';
import { findChromium, findWindowedChromium, showFailed } from '../sessions/chromium/find-chromium.ts';
import { isHeadlessShell } from '../sessions/chromium/known-places.ts';
import type { Chromium } from '../sessions/chromium/prove-chromium.ts';
import { LocalProvider } from '../sessions/local/local-provider.ts';
import { SessionManager } from '../sessions/session-manager.ts';
import { chromiumDeps } from './chromium.ts';

interface BrowsersDeps {
  readonly clock: Clock;
  /** Arguments of the egress, in addition to our own. */
  readonly args: readonly string[];
  readonly headless: boolean;
  /** Pause before each step of a browser; 0 for none. */
  readonly slowMs: number;
  readonly onTrouble: (where: string, error: unknown) => void;
}

/** The browsers of a worker process. */
export interface OpenBrowsers extends BrowserContexts {
  readonly provider: BrowserProviderName;
  /** Opens one before an item needs it. */
  warmUp(): void;
  close(): Promise<void>;
}

const OPEN_MS = 60_000;
const LOOK_EVERY_MS = 5000;
const SWEEP_EVERY_MS = 5 * 60_000;
/** Pages leak slowly, and a browser starts in a fraction of a second. */
const MAX_AGE_MS = 60 * 60_000;
/** Limits the cost of a session that could not be released. It must be longer than our own age limit. */
const BROWSERBASE_SECONDS = 1800;
const BROWSERBASE_AGE_MS = 1500 * 1000;

/** Nothing is started before the first item needs it, except for a sweep of what dead processes left behind. */
export function openBrowsers(config: Config, { clock, args, headless, slowMs, onTrouble }: BrowsersDeps): OpenBrowsers {
  const provider = openProvider(config, clock);
  const { slots } = laneConfig(config, 'browser');
  const isRemote = provider.name === 'browserbase';
  const sessions = config.browserSessions || (isRemote ? slots : 1);
  const browser: BrowserOptions = { headless, slowMs, args, openMs: OPEN_MS, proxy: null, metadata: {} };
  const manager = new SessionManager({
    ...{ provider, clock, browser, maxSessions: sessions + 1, sessionTimeout: config.browserIdleMs },
    limits: {
      maxItems: config.browserItems,
      maxAgeMs: isRemote ? BROWSERBASE_AGE_MS : MAX_AGE_MS,
      maxMemoryBytes: config.browserMemoryMb * 1e6,
    },
  });
  const pool = new BrowserPool({
    ...{ manager, clock, sessions, contextsPerSession: Math.ceil((slots * 2) / sessions) },
    onRetired: () => {},
  });
  const ended = new AbortController();
  const swept = sweepAgain(provider, clock, ended.signal, onTrouble);
  const running = pool.run(LOOK_EVERY_MS, ended.signal).catch((error: unknown) => onTrouble('browsers', error));
  return {
    provider: provider.name,
    open: (options, signal) => pool.open(options, signal),
    warmUp: () => pool.warmUp(),
    async close() {
      ended.abort();
      await pool.close();
      await Promise.all([swept, running]);
      await provider.close();
    },
  };
}

/**
 * Sweeps at the start, and from time to time: a remote session may have been created after we gave up waiting for it.
 */
async function sweepAgain(
  provider: BrowserProvider,
  clock: Clock,
  signal: AbortSignal,
  onTrouble: BrowsersDeps['onTrouble'],
): Promise<void> {
  while (!signal.aborted) {
    await provider.sweep(signal).catch((error: unknown) => onTrouble('browser sweep', error));
    await clock.sleep(SWEEP_EVERY_MS, signal);
  }
}

/** Opens the provider with this name. */
export function openProvider(config: Config, clock: Clock, name = config.browserProvider): BrowserProvider {
  const temporaryDir = tmpdir();
  if (name === 'cdp') return new CdpProvider({ clock, temporaryDir, endpoint: config.cdpUrl });
  if (name === 'browserbase') {
    const { browserbaseBaseUrl: baseUrl, browserbaseApiKey: apiKey, browserbaseProjectId: projectId } = config;
    return new BrowserbaseProvider({
      ...{ clock, temporaryDir, baseUrl, apiKey, projectId, timeoutSeconds: BROWSERBASE_SECONDS },
    });
  }
  return new LocalProvider({ clock, temporaryDir, chromium: (wants) => chooseChromium(config, clock, wants) });
}

async function chooseChromium(config: Config, clock: Clock, { window }: { window: boolean }): Promise<Chromium> {
  const deps = { ...chromiumDeps(config), clock };
  const { found, failed } = window ? await findWindowedChromium(deps) : await findChromium(deps);
  if (found === null) {
    const none = window ? 'no Chromium with windows was found' : 'no Chromium was found';
    const why = failed.length === 0 ? none : showFailed(failed);
    throw new BrowserUnavailable('misconfigured', `${why}; ${window ? WINDOW_ADVICE : 'run trawl browser install'}`);
  }
  if (window && isHeadlessShell(found.path)) {
    throw new BrowserUnavailable('misconfigured', `${found.path} has no windows; ${WINDOW_ADVICE}`);
  }
  return found;
}

const WINDOW_ADVICE = 'install the package chromium, or set TRAWL_CHROMIUM to one that has windows';
