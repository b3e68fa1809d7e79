import { enterHost } from '../enter-host.ts';
import { parseTarget } from '../target.ts';
import { type Blocking, PATTERN_GROUPS, type PatternGroup } from './blocking.ts';
import type { BrowserVisit, Refusal } from './browser-visit.ts';
import type { CdpSession } from './cdp-session.ts';
import type { ProxyCredentials } from './pinning-proxy.ts';
import { hostOf } from './visit-line.ts';

interface PausedRequest {
  readonly requestId: string;
  /** The same for all hops of a redirect, and in the events of `Network`. */
  readonly networkId?: string;
  readonly frameId: string;
  readonly resourceType: string;
  readonly request: { readonly url: string };
}

interface AskedForPassword {
  readonly requestId: string;
  readonly authChallenge: { readonly source?: 'Server' | 'Proxy' };
}

interface ReceivedResponse {
  readonly response: {
    readonly url: string;
    readonly status: number;
    readonly fromDiskCache?: boolean;
    readonly fromServiceWorker?: boolean;
    readonly fromPrefetchCache?: boolean;
  };
}

interface EndedRequest {
  readonly requestId: string;
}

export interface GuardDeps {
  readonly visit: () => BrowserVisit;
  readonly blocking: Blocking;
  /** What the page will probably ask for although it is blocked. */
  readonly expected: Iterable<PatternGroup>;
  /** The page has asked for something that an address pattern would have kept away. */
  readonly onBlocked: (group: PatternGroup) => void;
  /** Credentials of our proxy; null for a browser that does not use it. */
  readonly credentials: ProxyCredentials | null;
  readonly onRefused: (refusal: Refusal) => void;
  /** A document of the page itself, not of a frame, is being fetched. */
  readonly onDocument: (host: string) => void;
}

/**
 * What is done to a page beyond its connections: each of its documents waits at the gate of its host, as a request of our
 * own client does, and is checked before (hosts of the scraper, robots.txt), redirects included; what the policy blocks is
 * not fetched; and requests inside of tunnels, which the proxy cannot see, are counted.
 *
 * It also tells the browser the password of our proxy: once, for the first document of a context. The browser sends it with
 * everything that follows, whichever page, frame or worker asks.
 *
 * CDP's own interception is used, which leaves the HTTP cache on; Playwright's `route` switches it off (decision 29).
 */
export class PageGuard {
  readonly #session: CdpSession;
  readonly #deps: GuardDeps;
  /** The functions that leave the gate, by the request that is inside. */
  readonly #inside = new Map<string, () => void>();
  /** The address patterns that the page has. */
  readonly #patterns = new Set<PatternGroup>();
  /** The last request that was given the password. It is not given twice. */
  #authorised = '';
  #mainFrame = '';

  constructor(session: CdpSession, deps: GuardDeps) {
    this.#session = session;
    this.#deps = deps;
  }

  /** Resolves when the page is guarded. Rejects if it is gone. */
  async start(): Promise<void> {
    const session = this.#session;
    const { blocking, credentials, expected } = this.#deps;
    const { types } = blocking;
    session.on('Fetch.requestPaused', (paused) => void this.#onPaused(paused as PausedRequest));
    session.on('Fetch.authRequired', (asked) => void this.#onAsked(asked as AskedForPassword));
    session.on('Network.responseReceived', (received) => this.#count(received as ReceivedResponse));
    for (const event of ['Network.loadingFinished', 'Network.loadingFailed']) {
      session.on(event, (ended) => this.#leave((ended as EndedRequest).requestId));
    }
    session.on('close', () => this.end());
    const stages = ['Document', ...types].map((resourceType) => ({ resourceType, requestStage: 'Request' }));
    const [info] = await Promise.all([
      session.send('Target.getTargetInfo'),
      // Playwright keeps the bodies of answers in its own session: here they would be kept a second time.
      session.send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }),
      // Nothing else keeps trackers away from a browser that does not use our proxy.
      this.#block(credentials === null ? PATTERN_GROUPS : expected),
      session.send('Fetch.enable', { patterns: stages, handleAuthRequests: credentials !== null }),
    ]);
    // The main frame of a page has the id of its target.
    this.#mainFrame = (info as { readonly targetInfo: { readonly targetId: string } }).targetInfo.targetId;
  }

  /** Id of the page's own frame, once it is guarded. */
  get mainFrame(): string {
    return this.#mainFrame;
  }

  /**
   * From now on, address patterns keep these away. It has no effect on a page that is gone, and may come too late for one
   * that navigates: the browser holds such commands back until then. Then the other filters do it.
   */
  async expect(groups: Iterable<PatternGroup>): Promise<void> {
    await this.#block(groups).catch(() => {});
  }

  async #block(groups: Iterable<PatternGroup>): Promise<void> {
    const { urlPatterns } = this.#deps.blocking;
    const added = [...groups].filter((group) => !this.#patterns.has(group) && urlPatterns[group].length > 0);
    if (added.length === 0) return;
    for (const group of added) this.#patterns.add(group);
    const all = [...this.#patterns].flatMap((group) => urlPatterns[group]);
    await this.#session.send('Network.setBlockedURLs', { urlPatterns: all });
  }

  /** Leaves all gates: the page, or its visit, is over. */
  end(): void {
    for (const id of [...this.#inside.keys()]) this.#leave(id);
  }

  /** A document fetched before the page could be guarded, such as that of a pop-up: it counts, and delays the next. */
  async noteUnguarded(url: string): Promise<void> {
    const target = parseTarget(url);
    if (target.kind === 'failed') return;
    const { gate, patienceMs, signal } = this.#deps.visit();
    const leave = await gate.enter(hostOf(target), patienceMs, signal).catch(() => null);
    leave?.();
  }

  async #onPaused({ requestId, networkId = requestId, frameId, resourceType, request }: PausedRequest): Promise<void> {
    const { blocking, onBlocked } = this.#deps;
    if (blocking.types.has(resourceType)) {
      if (blocking.isFile(request.url)) onBlocked('files');
      await this.#answer('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' });
      return;
    }
    this.#leave(networkId);
    const { url } = request;
    try {
      await this.#enter(networkId, url, frameId === this.#mainFrame);
    } catch (error) {
      this.#deps.onRefused({ kind: 'thrown', error, url });
      await this.#answer('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' });
      return;
    }
    if (!(await this.#answer('Fetch.continueRequest', { requestId }))) this.#leave(networkId);
  }

  async #onAsked({ requestId, authChallenge }: AskedForPassword): Promise<void> {
    const isOurs = authChallenge.source === 'Proxy' && this.#authorised !== requestId;
    this.#authorised = requestId;
    const answer = isOurs ? { response: 'ProvideCredentials', ...this.#deps.credentials } : { response: 'Default' };
    await this.#answer('Fetch.continueWithAuth', { requestId, authChallengeResponse: answer });
  }

  async #enter(id: string, url: string, isMain: boolean): Promise<void> {
    const target = parseTarget(url);
    // `data:`, `blob:` and `about:` need no network, and the browser fetches no other schemes than http either.
    if (target.kind === 'failed') return;
    const visit = this.#deps.visit();
    const host = hostOf(target);
    if (isMain) this.#deps.onDocument(host);
    const leave = isMain
      ? await enterHost(visit, host, target.url)
      : await visit.gate.enter(host, visit.patienceMs, visit.signal);
    this.#inside.set(id, leave);
  }

  #leave(id: string): void {
    const leave = this.#inside.get(id);
    if (leave === undefined) return;
    this.#inside.delete(id);
    leave();
  }

  /** False if the page is gone or has navigated elsewhere. */
  async #answer(method: string, params: object): Promise<boolean> {
    try {
      await this.#session.send(method, params);
      return true;
    } catch {
      return false;
    }
  }

  /** Plain requests are counted by the proxy. */
  #count({ response }: ReceivedResponse): void {
    const { url, status } = response;
    const isCached = response.fromDiskCache || response.fromServiceWorker || response.fromPrefetchCache;
    if (isCached === true || !url.startsWith('https:')) return;
    const target = parseTarget(url);
    const usage = target.kind === 'failed' ? undefined : this.#deps.visit().usage?.of(hostOf(target));
    if (usage === undefined) return;
    usage.requests += 1;
    if (status === 429) usage.refused += 1;
    if (status === 403) usage.blocked += 1;
  }
}
