import type { BrowserPolicy } from '../../domain/browser-policy.ts';
import type { ContextLease } from '../../ports/browser-provider.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ContextWay } from './context-way.ts';

/** A context whose cookies, storage and cache the next item continues with. */
export interface KeptContext {
  readonly lease: ContextLease;
  readonly way: ContextWay;
  /** Items that it has had. */
  readonly uses: number;
}

/** What items must have in common to share a context. */
export interface ContextKey {
  readonly job: string;
  readonly browser: BrowserPolicy;
  /** What a login has left; after another login, contexts of the earlier one are no longer used. */
  readonly storage: object | null;
}

interface Idle extends KeptContext {
  readonly key: ContextKey;
  readonly taken: AbortController;
}

/** Contexts grow with every page, and keep their browser from being replaced. */
const MAX_USES = 50;
/** A job that continues comes back within moments. */
const IDLE_MS = 10_000;

/**
 * Contexts of jobs with `isolation: page`, between their items. A context is used by one item at a time. There are
 * never more than concurrent items: an item that finds none of its own closes an idle one before it opens another.
 */
export class KeptContexts {
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #idle: Idle[] = [];

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock;
  }

  /** One that was kept under the same key and can be used; null if there is none. */
  async take(key: ContextKey): Promise<KeptContext | null> {
    const found = this.#idle.find((idle) => isSame(idle.key, key) && !idle.lease.session.gone.aborted);
    if (found !== undefined) {
      this.#remove(found);
      return found;
    }
    const [oldest] = this.#idle;
    if (oldest !== undefined) await this.#end(oldest);
    return null;
  }

  /** Keeps it for the next item. It is closed if none comes, or after many. */
  async keep(key: ContextKey, kept: KeptContext): Promise<void> {
    const idle: Idle = { ...kept, key, taken: new AbortController() };
    if (kept.uses >= MAX_USES || kept.lease.session.contexts === 'shared') return this.#close(idle);
    this.#idle.push(idle);
    void this.#clock.sleep(IDLE_MS, idle.taken.signal).then(() => this.#end(idle));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#idle].map((idle) => this.#end(idle)));
  }

  async #end(idle: Idle): Promise<void> {
    if (this.#remove(idle)) await this.#close(idle);
  }

  #remove(idle: Idle): boolean {
    const at = this.#idle.indexOf(idle);
    if (at < 0) return false;
    this.#idle.splice(at, 1);
    idle.taken.abort();
    return true;
  }

  async #close({ lease, way }: KeptContext): Promise<void> {
    await lease.release('done');
    await way.close();
  }
}

function isSame(a: ContextKey, b: ContextKey): boolean {
  return a.job === b.job && a.storage === b.storage && JSON.stringify(a.browser) === JSON.stringify(b.browser);
}
