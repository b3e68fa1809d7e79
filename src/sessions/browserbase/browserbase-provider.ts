import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import {
  type BrowserOptions,
  type BrowserProvider,
  type BrowserSession,
  BrowserUnavailable,
} from '../../ports/browser-provider.ts';
import type { Clock } from '../../ports/clock.ts';
import { SessionFolders } from '../local/session-folders.ts';
import { isOwnerGone, readOwner, showOwner, thisProcess } from '../owner.ts';
import { connectByCdp } from '../remote-session.ts';
import { BrowserbaseApi, type CreatedSession, type RemoteState } from './browserbase-api.ts';
import { BrowserbaseSession } from './browserbase-session.ts';

interface BrowserbaseProviderDeps {
  readonly clock: Clock;
  readonly baseUrl: string;
  /** Empty if it is not set. */
  readonly apiKey: string;
  readonly projectId: string;
  readonly temporaryDir: string;
  /**
   * After this Browserbase ends a session itself: the maximum cost of a session that could not be released. 60 to
   * 21,600.
   */
  readonly timeoutSeconds: number;
}

/** Metadata of our sessions: whose they are, and which attempt created them. */
const MACHINE = 'trawl_machine';
const OWNER = 'trawl_process';
const OPENING = 'trawl_opening';

/**
 * Sessions at Browserbase. Each one that is created is released: when it is closed, when the connection is lost, when it
 * could not be connected to, and when the answer to its creation never came, found by its mark. Those of processes of this
 * machine that died are swept.
 */
export class BrowserbaseProvider implements BrowserProvider {
  readonly name = 'browserbase';
  readonly #deps: BrowserbaseProviderDeps;
  readonly #api: BrowserbaseApi;
  readonly #folders: SessionFolders;
  readonly #open = new Map<string, BrowserSession>();
  /** Marks of attempts that are under way. */
  readonly #openings = new Set<string>();

  constructor(deps: BrowserbaseProviderDeps) {
    this.#deps = deps;
    this.#api = new BrowserbaseApi(deps);
    this.#folders = new SessionFolders(deps.temporaryDir);
  }

  async open(options: BrowserOptions, signal: AbortSignal): Promise<BrowserSession> {
    const { clock, apiKey } = this.#deps;
    if (apiKey === '') throw new BrowserUnavailable('misconfigured', 'BROWSERBASE_API_KEY is not set');
    signal.throwIfAborted();
    const opening = clock.id();
    this.#openings.add(opening);
    try {
      const created = await this.#create(options, opening);
      const session = await this.#connect(created, options, signal);
      this.#open.set(session.id, session);
      return session;
    } finally {
      this.#openings.delete(opening);
    }
  }

  async #create({ metadata }: BrowserOptions, opening: string): Promise<CreatedSession> {
    const marks = { [MACHINE]: hostname(), [OWNER]: showOwner(thisProcess()), [OPENING]: opening };
    try {
      return await this.#api.create(this.#deps.timeoutSeconds, { ...metadata, ...marks });
    } catch (error) {
      // It is unknown whether there is a session now. If the answer is only late, `sweep` finds it.
      const isRefused = error instanceof BrowserUnavailable && error.reason !== 'failed';
      if (!isRefused) await this.#releaseThose(({ userMetadata }) => userMetadata?.[OPENING] === opening);
      if (error instanceof BrowserUnavailable) throw error;
      throw new BrowserUnavailable('failed', 'Browserbase did not answer with a session', {
        cause: error,
      });
    }
  }

  async #connect(created: CreatedSession, { openMs }: BrowserOptions, signal: AbortSignal): Promise<BrowserSession> {
    const { clock } = this.#deps;
    const { id, connectUrl } = created;
    const folder = await this.#folders.make();
    try {
      const browser = await connectByCdp({ endpoint: connectUrl, openMs, folder, clock, signal });
      return new BrowserbaseSession(created, browser, {
        ...{ clock, folder },
        isRunning: () => this.#api.isRunning(id),
        release: async () => {
          // One that could not be released no longer counts as open, so that `sweep` tries again.
          this.#open.delete(id);
          await this.#api.release(id);
        },
      });
    } catch (error) {
      await this.#api.release(id);
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Ends sessions of this machine whose process is gone, and those of this process that it does not know. */
  async sweep(): Promise<number> {
    await this.#folders.sweep();
    if (this.#deps.apiKey === '') return 0;
    return await this.#releaseThose((state) => this.#isOrphan(state));
  }

  #isOrphan({ id, userMetadata }: RemoteState): boolean {
    if (userMetadata?.[MACHINE] !== hostname()) return false;
    const marked = userMetadata[OWNER];
    if (typeof marked !== 'string') return false;
    if (marked !== showOwner(thisProcess())) return isOwnerGone(readOwner(marked));
    return !this.#open.has(id) && !this.#openings.has(String(userMetadata[OPENING]));
  }

  async #releaseThose(isMeant: (state: RemoteState) => boolean): Promise<number> {
    let released = 0;
    for (const status of ['RUNNING', 'PENDING'] as const) {
      const listed = await this.#api.list(status).catch(() => []);
      for (const state of listed.filter(isMeant)) if (await this.#api.release(state.id)) released += 1;
    }
    return released;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((session) => session.close()));
    if (this.#deps.apiKey !== '') await this.sweep();
    await this.#folders.close();
  }
}
