import { type Retirement, retirement, type SessionLimits, type SessionUse } from '../domain/session-retirement.ts';
import {
  type BrowserOptions,
  type BrowserProvider,
  type BrowserProviderName,
  type BrowserSession,
  BrowserUnavailable,
} from '../ports/browser-provider.ts';
import type { Clock } from '../ports/clock.ts';
import { BrowserbaseSession } from './browserbase/browserbase-session.ts';

/** A session as its users see it, with its id where the provider puts it. */
export interface Session {
  readonly id: string;
  readonly provider: BrowserProviderName;
  readonly browserbase?: { readonly id: string; readonly connectUrl: string; readonly projectId: string };
  readonly local?: { readonly id: string; readonly browser: BrowserSession['browser'] };
  readonly cdp?: { readonly id: string; readonly browser: BrowserSession['browser'] };
  /** The same as `destroySession`. */
  cleanup(): Promise<void>;
}

export interface SessionStats {
  sessionId: string;
  /** Finished items. */
  itemsProcessed: number;
  errors: number;
  /** Milliseconds. */
  uptime: number;
  /** Items that it works on now. */
  currentLoad: number;
}

export interface SessionManagerOptions {
  readonly provider: BrowserProvider;
  readonly clock: Clock;
  /** For sessions that are created without their own options. */
  readonly browser: BrowserOptions;
  readonly maxSessions?: number;
  /** Milliseconds without an item, after which `refreshSessions` closes a session. */
  readonly sessionTimeout?: number;
  /** What else retires a session. */
  readonly limits?: Partial<Omit<SessionLimits, 'idleMs'>>;
}

const MAX_SESSIONS = 5;
const SESSION_TIMEOUT_MS = 5 * 60_000;
/** A healthy browser answers in milliseconds; on an overloaded machine, in seconds. */
const HEALTHY_MS = 10_000;

interface Kept {
  readonly session: BrowserSession;
  readonly shown: Session;
  readonly openedAt: number;
  usedAt: number;
  begun: number;
  ended: number;
  errors: number;
}

/** Creates and ends sessions of one provider, and tracks them: their health and what they have done. */
export class SessionManager {
  readonly #provider: BrowserProvider;
  readonly #clock: Clock;
  readonly #browser: BrowserOptions;
  readonly #maxSessions: number;
  readonly #limits: SessionLimits;
  readonly #kept = new Map<string, Kept>();
  readonly #ending = new Map<string, Promise<void>>();
  #opening = 0;

  constructor({ provider, clock, browser, maxSessions, sessionTimeout, limits }: SessionManagerOptions) {
    this.#provider = provider;
    this.#clock = clock;
    this.#browser = browser;
    this.#maxSessions = maxSessions ?? MAX_SESSIONS;
    const none = Number.POSITIVE_INFINITY;
    this.#limits = {
      ...{ maxItems: none, maxAgeMs: none, maxMemoryBytes: none, ...limits },
      idleMs: sessionTimeout ?? SESSION_TIMEOUT_MS,
    };
  }

  get limits(): SessionLimits {
    return this.#limits;
  }

  /** Those that can be used, in the order in which they were created. */
  getActiveSessions(): Session[] {
    return [...this.#kept.values()].map(({ shown }) => shown);
  }

  /** Rejects with BrowserUnavailable; over the limit its reason is `busy`. */
  async createSession(options: Partial<BrowserOptions> = {}, signal?: AbortSignal): Promise<Session> {
    // One that is being closed still has a browser.
    if (this.#kept.size + this.#opening + this.#ending.size >= this.#maxSessions) {
      throw new BrowserUnavailable('busy', `Session limit (${this.#maxSessions}) reached`);
    }
    this.#opening += 1;
    try {
      const wanted = { ...this.#browser, ...options };
      return this.#keep(await this.#provider.open(wanted, signal ?? new AbortController().signal));
    } finally {
      this.#opening -= 1;
    }
  }

  #keep(session: BrowserSession): Session {
    const { id } = session;
    const shown = present(session, () => this.destroySession(id));
    const now = this.#clock.elapsed();
    this.#kept.set(id, { session, shown, openedAt: now, usedAt: now, begun: 0, ended: 0, errors: 0 });
    const lose = () => void this.#end(id, 'kill');
    session.gone.addEventListener('abort', lose, { once: true });
    if (session.gone.aborted) lose();
    return shown;
  }

  /** Resolves when nothing of it is left, within our own deadline. A session that does not exist is fine. */
  async destroySession(sessionId: string): Promise<void> {
    await this.#end(sessionId, 'close');
  }

  /** The same for one that hangs: it is not asked first. */
  async killSession(sessionId: string): Promise<void> {
    await this.#end(sessionId, 'kill');
  }

  async #end(sessionId: string, how: 'close' | 'kill'): Promise<void> {
    const kept = this.#kept.get(sessionId);
    if (kept !== undefined) {
      this.#kept.delete(sessionId);
      const ended = kept.session[how]().finally(() => this.#ending.delete(sessionId));
      this.#ending.set(sessionId, ended);
    }
    await this.#ending.get(sessionId);
  }

  /** Rejects an id that is not that of an active session. */
  getSessionStats(sessionId: string): SessionStats {
    const { openedAt, begun, ended, errors } = this.#find(sessionId);
    const uptime = this.#clock.elapsed() - openedAt;
    return { sessionId, itemsProcessed: ended, errors, uptime, currentLoad: begun - ended };
  }

  /** The browser of an active session. */
  browserOf(sessionId: string): BrowserSession {
    return this.#find(sessionId).session;
  }

  /** An item begins in the session. Call the returned function at its end, once. */
  beginItem(sessionId: string): (end: 'done' | 'failed') => void {
    const kept = this.#find(sessionId);
    kept.begun += 1;
    kept.usedAt = this.#clock.elapsed();
    return (end) => {
      kept.ended += 1;
      kept.usedAt = this.#clock.elapsed();
      if (end === 'failed') kept.errors += 1;
    };
  }

  /** What a session has been used for, to judge whether it is due. Reading its memory takes some milliseconds. */
  useOf(sessionId: string, isMemoryRead: boolean): SessionUse {
    const { session, openedAt, usedAt, begun, ended } = this.#find(sessionId);
    const now = this.#clock.elapsed();
    const memoryBytes = isMemoryRead ? session.memoryBytes() : null;
    return { items: begun, load: begun - ended, ageMs: now - openedAt, unusedMs: now - usedAt, memoryBytes };
  }

  /** Why a session is due to be retired; null if it is not. */
  dueOf(sessionId: string, isMemoryRead: boolean): Retirement | null {
    return retirement(this.useOf(sessionId, isMemoryRead), this.#limits);
  }

  /**
   * Asks each session whether it is well and ends those that are not, and those without items that are due. Returns those
   * that are left.
   */
  async refreshSessions(): Promise<Session[]> {
    await Promise.all(
      [...this.#kept].map(async ([id, { session }]) => {
        const isHealthy = await session.isHealthy(HEALTHY_MS);
        const kept = this.#kept.get(id);
        if (kept === undefined) return;
        if (!isHealthy) await this.killSession(id);
        else if (kept.begun === kept.ended && this.dueOf(id, true) !== null) await this.destroySession(id);
      }),
    );
    return this.getActiveSessions();
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    await Promise.all([...this.#kept.keys()].map((id) => this.destroySession(id)));
    await Promise.all(this.#ending.values());
  }

  #find(sessionId: string): Kept {
    const kept = this.#kept.get(sessionId);
    if (kept === undefined) throw new Error(`there is no active session ${sessionId}`);
    return kept;
  }
}

function present(session: BrowserSession, cleanup: () => Promise<void>): Session {
  const { id, provider, browser } = session;
  if (session instanceof BrowserbaseSession) {
    const { connectUrl, projectId } = session;
    return { id, provider, browserbase: { id, connectUrl, projectId }, cleanup };
  }
  return { id, provider, [provider]: { id, browser }, cleanup };
}
