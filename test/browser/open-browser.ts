import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { SystemClock } from '../../src/adapters/system/clock.ts';
import { parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import {
  type BrowserEgress,
  type BrowserWay,
  openBrowserEgress,
  type WayOptions,
} from '../../src/egress/browser/browser-egress.ts';
import type { BrowserVisit } from '../../src/egress/browser/browser-visit.ts';
import type { ReachDeps } from '../../src/egress/reach.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';
import { sparingArgs } from '../../src/sessions/local/sparing-args.ts';
import { testChromium } from '../support/chromium.ts';

/** A browser of this machine, and the way out that its pages have; see `closeBrowsers`. */
export interface OpenBrowser extends AsyncDisposable {
  readonly browser: Browser;
  readonly egress: BrowserEgress;
  openContext(parts?: ContextParts): Promise<OpenContext>;
}

export interface ContextParts {
  readonly visit?: Partial<BrowserVisit>;
  readonly way?: Partial<WayOptions>;
  readonly options?: BrowserContextOptions;
}

export interface OpenContext extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly way: BrowserWay;
  /** A page that is guarded. */
  newPage(): Promise<Page>;
}

/** The started browsers, by their arguments. */
const started = new Map<string, Promise<Browser>>();

/**
 * Closes the browsers of `openBrowser` at the end of a test file. Until then callers with the same arguments share one:
 * contexts have nothing in common, and starting a browser takes longer than most tests.
 */
export async function closeBrowsers(): Promise<void> {
  for (const browser of started.values()) await (await browser).close();
  started.clear();
}

function sharedChromium(args: readonly string[]): Promise<Browser> {
  const key = args.join(' ');
  const browser = started.get(key) ?? launchChromium(args);
  started.set(key, browser);
  return browser;
}

export async function openBrowser(
  allowed: string,
  parts: Partial<ReachDeps> = {},
  args: readonly string[] = [],
): Promise<OpenBrowser> {
  const clock = new SystemClock();
  const rules = new AddressRules(parseAddressRanges(allowed));
  const egress = openBrowserEgress({ rules, routes: parseRoutes(''), clock, ...parts });
  const { sandbox } = await testChromium();
  const sparing = sparingArgs({ sandbox, headless: true });
  const browser = await sharedChromium([...sparing, ...egress.launchArgs, ...args]);
  return {
    browser,
    egress,
    async openContext({ visit = {}, way: wayParts = {}, options = {} } = {}) {
      const way = await egress.open(aBrowserVisit(visit), { block: [], browser: 'local', disguise: null, ...wayParts });
      const context = await browser.newContext({ ...options, ...way.contextOptions });
      for (const content of way.initScripts) await context.addInitScript({ content });
      return {
        context,
        way,
        async newPage() {
          const page = await context.newPage();
          await way.attach(await context.newCDPSession(page));
          return page;
        },
        async [Symbol.asyncDispose]() {
          await context.close();
          await way.close();
        },
      };
    },
    [Symbol.asyncDispose]: () => egress.close(),
  };
}

/** A browser as it is, with the usual way to the web. */
export async function launchChromium(args: readonly string[] = []): Promise<Browser> {
  const { path, sandbox } = await testChromium();
  return chromium.launch({ executablePath: path, chromiumSandbox: sandbox, args: [...args] });
}

export function aBrowserVisit(parts: Partial<BrowserVisit> = {}): BrowserVisit {
  return {
    exit: { dialer: 'direct', session: '' },
    checkHost: () => undefined,
    job: null,
    gate: OPEN_GATE,
    patienceMs: 10_000,
    deadlines: { connectMs: 10_000, firstByteMs: 10_000, silenceMs: 10_000 },
    maxBytes: 64 << 20,
    signal: new AbortController().signal,
    ...parts,
  };
}
