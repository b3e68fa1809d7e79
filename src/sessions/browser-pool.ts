import type { BrowserContextOptions } from 'playwright-core';
import { isNearlyDue } from '../domain/session-retirement.ts';
import {
  type BrowserContexts,
  BrowserUnavailable,
  type ContextLease,
  type LeaseEnd,
} from '../ports/browser-provider.ts';
import type { Clock } from '../ports/clock.ts';
import { closeContext, openContext } from './context-of-session.ts';
import type { SessionManager } from './session-manager.ts';

interface PoolDeps {
  readonly manager: SessionManager;
  readonly clock: Clock;
  /** Concurrent sessions. The manager should allow one more, for the successor of one that is being retired. */
  readonly sessions: number;
  /** Concurrent contexts of one session, if its contexts are separate; otherwise one. */
  readonly contextsPerSession: number;
  readonly onRetired: (sessionId: string, why: string) => void;
}

interface Waiter {
  readonly resolve: (sessionId: string) => void;
  readonly reject: (error: unknown) => void;
}

/** A service without room for us is asked again after this, unless it said when. */
const BUSY_MS = 2000;
/** After this many, waiting items get the error. */
const MAX_REFUSALS = 5;

/** A session that cannot open a context is ended, and another one is tried. */
const MAX_TRIES = 2;

/**
 * The browsers of a worker process. Sessions are opened when items need them and kept for the next ones. A session that is
 * due (by items, age or memory) gets no new items and is closed after the last one; its successor is opened before that. One
 * that hangs is killed, and its slot is free at once. An item that finds no room waits for its turn.
 */
export class BrowserPool implements BrowserContexts {
  readonly #deps: PoolDeps;
  /** Places taken in each usable session: by items that have it and those whose context is being opened. */
  readonly #taken = new Map<string, number>();
  readonly #retiring = new Map<string, string>();
  readonly #waiting: Waiter[] = [];
  readonly #closed = new AbortController();
  #opening = 0;
  #refusals = 0;
  #isPausing = false;

  constructor(deps: PoolDeps) {
    this.#deps = deps;
  }

  async open(options: BrowserContextOptions, signal: AbortSignal): Promise<ContextLease> {
    for (let tries = 1; ; tries += 1) {
      const sessionId = await this.#takePlace(signal);
      try {
        return await this.#lend(sessionId, options, signal);
      } catch (error) {
        this.#givePlaceBack(sessionId);
        signal.throwIfAborted();
        // Whatever kept it from opening a context would affect the next items as well.
        void this.#deps.manager.killSession(sessionId).then(() => this.#fill());
        if (tries === MAX_TRIES) throw error;
      }
    }
  }

  /** Opens a session ahead of demand, if there is none. Never rejects: the first item that needs one gets the error. */
  warmUp(): void {
    if (this.#taken.size + this.#opening === 0) this.#openSession();
  }

  /**
   * Ends sessions that do not answer, retires those that are due, and opens successors of those that soon will be. Answers
   * how many are left.
   */
  async runOnce(): Promise<number> {
    const { manager } = this.#deps;
    this.#forgetLost();
    for (const sessionId of [...this.#taken.keys()]) {
      const due = manager.dueOf(sessionId, true);
      if (due !== null) this.#retire(sessionId, due);
    }
    await manager.refreshSessions();
    this.#forgetLost();
    const areNearlyDue = [...this.#taken.keys()].every((id) => isNearlyDue(manager.useOf(id, false), manager.limits));
    const areUsed = manager.getActiveSessions().some(({ id }) => manager.getSessionStats(id).currentLoad > 0);
    if (areUsed && areNearlyDue && this.#opening === 0) this.#openSession();
    this.#fill();
    return this.#taken.size;
  }

  /** Runs until `signal` aborts. */
  async run(everyMs: number, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#closed.signal]);
    while (!either.aborted) {
      await this.#deps.clock.sleep(everyMs, either);
      if (!either.aborted) await this.runOnce();
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const { reject } of this.#waiting.splice(0))
      reject(new BrowserUnavailable('failed', 'the worker is stopping'));
    await this.#deps.manager.close();
  }

  async #takePlace(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const waiter = { resolve, reject };
    const leave = () => {
      const at = this.#waiting.indexOf(waiter);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.push(waiter);
    this.#fill();
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Gives places to waiting items in order, and opens sessions for the rest as far as allowed. */
  #fill(): void {
    this.#forgetLost();
    while (this.#waiting.length > 0) {
      const sessionId = this.#roomiest();
      if (sessionId === null) break;
      this.#taken.set(sessionId, (this.#taken.get(sessionId) ?? 0) + 1);
      this.#waiting.shift()?.resolve(sessionId);
    }
    const wanted = Math.ceil(this.#waiting.length / this.#deps.contextsPerSession);
    while (this.#opening < wanted && this.#taken.size + this.#opening < this.#deps.sessions && !this.#isPausing) {
      this.#openSession();
    }
  }

  #openSession(): void {
    if (this.#closed.signal.aborted) return;
    this.#opening += 1;
    this.#deps.manager
      .createSession({}, this.#closed.signal)
      .then(
        ({ id }) => {
          this.#refusals = 0;
          this.#retireNearlyDue();
          this.#taken.set(id, 0);
        },
        (error: unknown) => this.#refused(error),
      )
      .finally(() => {
        this.#opening -= 1;
        this.#fill();
      });
  }

  /** Its successor is here. */
  #retireNearlyDue(): void {
    const { manager } = this.#deps;
    this.#forgetLost();
    for (const id of [...this.#taken.keys()]) {
      if (isNearlyDue(manager.useOf(id, false), manager.limits)) this.#retire(id, 'its successor is open');
    }
  }

  /** A service without room is asked again after a pause. Any other error goes to the waiting items. */
  #refused(error: unknown): void {
    const isBusy = error instanceof BrowserUnavailable && error.reason === 'busy';
    this.#refusals += 1;
    if (!isBusy || (this.#refusals >= MAX_REFUSALS && this.#taken.size === 0)) {
      this.#refusals = 0;
      for (const { reject } of this.#waiting.splice(0)) reject(error);
      return;
    }
    if (this.#isPausing) return;
    this.#isPausing = true;
    void this.#deps.clock.sleep(error.retryAfterMs ?? BUSY_MS, this.#closed.signal).then(() => {
      this.#isPausing = false;
      this.#fill();
    });
  }

  #roomiest(): string | null {
    const { manager, contextsPerSession } = this.#deps;
    const free = [...this.#taken].filter(
      ([id, taken]) => taken < (manager.browserOf(id).contexts === 'own' ? contextsPerSession : 1),
    );
    return free.sort(([, a], [, b]) => a - b)[0]?.[0] ?? null;
  }

  async #lend(sessionId: string, options: BrowserContextOptions, signal: AbortSignal): Promise<ContextLease> {
    const { manager, clock } = this.#deps;
    const session = manager.browserOf(sessionId);
    const endItem = manager.beginItem(sessionId);
    const context = await openContext(session, options, clock, signal).catch((error: unknown) => {
      endItem('failed');
      throw error;
    });
    let released: Promise<void> | null = null;
    const release = async (end: LeaseEnd): Promise<void> => {
      endItem(end === 'done' ? 'done' : 'failed');
      const isWell = end !== 'spoilt' && !session.gone.aborted && (await closeContext(session, context, clock));
      // Without its memory, which takes longer to read than many pages: `runOnce` does that.
      const due = this.#taken.has(sessionId) && isWell ? manager.dueOf(sessionId, false) : null;
      if (due !== null && due !== 'idle') this.#retire(sessionId, due);
      this.#givePlaceBack(sessionId);
      if (!isWell) await manager.killSession(sessionId);
      this.#fill();
    };
    return {
      session,
      context,
      release(end) {
        released ??= release(end);
        return released;
      },
    };
  }

  #givePlaceBack(sessionId: string): void {
    const taken = this.#taken.get(sessionId);
    if (taken !== undefined) this.#taken.set(sessionId, taken - 1);
    else this.#closeIfUnused(sessionId);
  }

  #retire(sessionId: string, why: string): void {
    if (!this.#taken.delete(sessionId)) return;
    this.#retiring.set(sessionId, why);
    this.#closeIfUnused(sessionId);
  }

  #closeIfUnused(sessionId: string): void {
    const why = this.#retiring.get(sessionId);
    const { manager, onRetired } = this.#deps;
    if (why === undefined || !isActive(manager, sessionId)) return;
    if (manager.getSessionStats(sessionId).currentLoad > 0) return;
    this.#retiring.delete(sessionId);
    onRetired(sessionId, why);
    void manager.destroySession(sessionId).then(() => this.#fill());
  }

  /** Sessions that ended by themselves, or were ended elsewhere. */
  #forgetLost(): void {
    const { manager } = this.#deps;
    for (const id of [...this.#taken.keys(), ...this.#retiring.keys()]) {
      if (isActive(manager, id)) continue;
      this.#taken.delete(id);
      this.#retiring.delete(id);
    }
  }
}

function isActive(manager: SessionManager, sessionId: string): boolean {
  return manager.getActiveSessions().some(({ id }) => id === sessionId);
}
