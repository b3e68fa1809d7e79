import { DeadlineWatch } from '../../ports/deadline-watch.ts';
import { openReach, type ReachDeps } from '../reach.ts';
import { BlockedByJob } from './blocked-by-job.ts';
import { type Blocked, type Blocking, blockingOf, type PatternGroup } from './blocking.ts';
import type { BrowserVisit, Refusal } from './browser-visit.ts';
import type { CdpSession } from './cdp-session.ts';
import { type Disguise, disguisePage } from './disguise.ts';
import { DISGUISE_SCRIPT } from './disguise-script.ts';
import { LAUNCH_ARGS, trustArgs } from './launch-args.ts';
import { PageGuard } from './page-guard.ts';
import { PinningProxy, type ProxyCredentials } from './pinning-proxy.ts';

/** The way to the web for the browsers of a process: every context gets its own, and pages have no other. */
export interface BrowserEgress {
  /** For every local browser, whatever its contexts are used for. */
  readonly launchArgs: readonly string[];
  /** Opens a way out for one context, before the context is opened. */
  open(visit: BrowserVisit, options: WayOptions): Promise<BrowserWay>;
  /** Closes all ways. */
  close(): Promise<void>;
}

export interface WayOptions {
  readonly block: readonly Blocked[];
  /**
   * `local`: the browser runs on this machine, and everything goes through our proxy. `remote`: it has its own network,
   * which we neither protect nor reach with our proxy; documents are checked, paced and counted anyway.
   */
  readonly browser: 'local' | 'remote';
  /** Null if the browser need not hide that it is automated. */
  readonly disguise: Disguise | null;
}

/**
 * Options for a new context, in Playwright's terms. The password of the proxy is not among them: Playwright would turn
 * the HTTP cache off to use it. So `context.request`, which Playwright sends by itself, has no way out.
 */
interface WayContextOptions {
  readonly proxy?: { readonly server: string };
}

/**
 * The way out of one browser context. It is open from before the context is created until after it is closed; a context
 * that is used for several items passes from one visit to the next.
 */
export interface BrowserWay {
  readonly contextOptions: WayContextOptions;
  /** Run in every frame of the context before its own scripts. */
  readonly initScripts: readonly string[];
  /**
   * Guards a page. Call it for each page of the context before using it, and for each pop-up as soon as it is known,
   * with its current address. Rejects if the page is gone.
   */
  attach(session: CdpSession, popupUrl?: string): Promise<PageGuard>;
  /** Why the last requested document did not arrive, if we refused it; null otherwise. */
  refusal(): Refusal | null;
  /** Aborts when the visit has received more than it may: nothing more will come. */
  readonly exceeded: AbortSignal;
  /** Everything from now on belongs to another visit. Connections of the previous one are closed. */
  next(visit: BrowserVisit): Promise<void>;
  /** Closes every connection. All usage has been counted by then. Never rejects. */
  close(): Promise<void>;
}

export function openBrowserEgress(deps: ReachDeps): BrowserEgress {
  const { clock, proxies } = deps;
  const reach = openReach(deps);
  const watch = new DeadlineWatch(clock);
  const ways = new Set<BrowserWay>();
  const blockedByJob = new BlockedByJob();
  return {
    launchArgs: [...LAUNCH_ARGS, ...trustArgs(proxies?.ca ?? null)],
    async open(visit, { block, browser, disguise }) {
      const blocking = blockingOf(block);
      const credentials = { username: 'trawl', password: `${clock.id()}${clock.id()}` };
      const refusesHost = (hostname: string) => {
        const why = blocking.refusesHost(hostname);
        if (why !== null) way.noteBlocked('trackers');
        return why;
      };
      const parts = { reach, clock, watch, credentials, refusesHost };
      const proxy = await PinningProxy.open(visit, parts);
      const isLocal = browser === 'local';
      const login = isLocal ? credentials : null;
      const way: Way = new Way(proxy, { blocking, blockedByJob, credentials: login, disguise }, () => ways.delete(way));
      ways.add(way);
      return way;
    },
    async close() {
      await Promise.all([...ways].map((way) => way.close()));
      watch.close();
      reach.close();
    },
  };
}

interface WayParts {
  readonly blocking: Blocking;
  /** Shared by all ways. */
  readonly blockedByJob: BlockedByJob;
  /** Null for a browser that does not use the proxy. */
  readonly credentials: ProxyCredentials | null;
  readonly disguise: Disguise | null;
}

class Way implements BrowserWay {
  readonly contextOptions: WayContextOptions;
  readonly initScripts: readonly string[];
  readonly #disguise: Disguise | null;
  readonly #proxy: PinningProxy;
  readonly #blocking: Blocking;
  readonly #blockedByJob: BlockedByJob;
  readonly #credentials: ProxyCredentials | null;
  readonly #guards = new Set<PageGuard>();
  readonly #onClosed: () => void;
  #refusal: Refusal | null = null;
  #documentHost: string | null = null;

  constructor(proxy: PinningProxy, parts: WayParts, onClosed: () => void) {
    const { blocking, blockedByJob, credentials, disguise } = parts;
    this.#proxy = proxy;
    this.#blocking = blocking;
    this.#blockedByJob = blockedByJob;
    this.#credentials = credentials;
    this.#onClosed = onClosed;
    this.#disguise = disguise;
    this.initScripts = disguise === null ? [] : [DISGUISE_SCRIPT];
    this.contextOptions = credentials === null ? {} : { proxy: { server: `http://127.0.0.1:${proxy.port}` } };
  }

  async attach(session: CdpSession, popupUrl?: string): Promise<PageGuard> {
    const guard = new PageGuard(session, {
      visit: () => this.#proxy.line.visit,
      blocking: this.#blocking,
      expected: this.#blockedByJob.expected(this.#proxy.line.visit.job),
      onBlocked: (group) => this.noteBlocked(group),
      credentials: this.#credentials,
      onRefused: (refusal) => {
        this.#refusal = refusal;
      },
      onDocument: (host) => {
        this.#documentHost = host;
        this.#refusal = null;
      },
    });
    this.#guards.add(guard);
    await Promise.all([guard.start(), this.#disguise === null ? null : disguisePage(session, this.#disguise)]);
    if (popupUrl !== undefined) await guard.noteUnguarded(popupUrl);
    return guard;
  }

  /** A page has asked for something that is blocked: it and the next ones of its job get patterns against it. */
  noteBlocked(group: PatternGroup): void {
    const { job } = this.#proxy.line.visit;
    if (job !== null) this.#blockedByJob.note(job, group);
    for (const guard of this.#guards) void guard.expect([group]);
  }

  refusal(): Refusal | null {
    if (this.#refusal !== null) return this.#refusal;
    const host = this.#documentHost;
    const failure = host === null ? null : this.#proxy.line.failureAt(host);
    return failure === null ? null : { kind: 'failed', failure, url: host ?? '' };
  }

  get exceeded(): AbortSignal {
    return this.#proxy.line.exceeded;
  }

  async next(visit: BrowserVisit): Promise<void> {
    for (const guard of this.#guards) guard.end();
    this.#guards.clear();
    this.#refusal = null;
    this.#documentHost = null;
    await this.#proxy.next(visit);
  }

  async close(): Promise<void> {
    for (const guard of this.#guards) guard.end();
    this.#guards.clear();
    await this.#proxy.close();
    this.#onClosed();
  }
}
