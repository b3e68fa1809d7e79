import { rm } from 'node:fs/promises';
import {
  type BrowserOptions,
  type BrowserProvider,
  type BrowserSession,
  BrowserUnavailable,
} from '../../ports/browser-provider.ts';
import type { Clock } from '../../ports/clock.ts';
import { SessionFolders } from '../local/session-folders.ts';
import { connectByCdp, RemoteSession } from '../remote-session.ts';

interface CdpProviderDeps {
  readonly clock: Clock;
  /**
   * `ws://…`, `wss://user:password@…`, or the `http://…` address at which a Chromium reports its own. Empty if there is
   * none.
   */
  readonly endpoint: string;
  readonly temporaryDir: string;
}

/**
 * Connects to any endpoint that speaks CDP: a Chromium run by someone else, or a service such as Bright Data's Scraping
 * Browser, which starts a browser with each connection. What we open there is closed; the browser itself is not ours to
 * end.
 */
export class CdpProvider implements BrowserProvider {
  readonly name = 'cdp';
  readonly #deps: CdpProviderDeps;
  readonly #folders: SessionFolders;
  readonly #open = new Set<BrowserSession>();

  constructor(deps: CdpProviderDeps) {
    this.#deps = deps;
    this.#folders = new SessionFolders(deps.temporaryDir);
  }

  async open({ openMs }: BrowserOptions, signal: AbortSignal): Promise<BrowserSession> {
    const { clock, endpoint } = this.#deps;
    if (endpoint === '') throw new BrowserUnavailable('misconfigured', 'TRAWL_CDP_URL is not set');
    signal.throwIfAborted();
    const folder = await this.#folders.make();
    try {
      const browser = await connectByCdp({ endpoint, openMs, folder, clock, signal });
      const facts = { id: clock.id(), provider: this.name, contexts: 'own', browser } as const;
      const session = new RemoteSession(facts, { clock, folder, release: async () => {} });
      this.#open.add(session);
      session.gone.addEventListener('abort', () => this.#open.delete(session), { once: true });
      return session;
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** The browser itself closes contexts of a lost connection. */
  sweep(): Promise<number> {
    return this.#folders.sweep();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((session) => session.close()));
    await this.#folders.close();
  }
}
