import type { Clock } from '../../../ports/clock.ts';
import type { LedgerChange } from '../../../ports/ledger.ts';
import type { Database } from './database.ts';
import type { Durability } from './durability.ts';

/** What changes work on. `flush` writes what they left in memory; `forget` drops it after a rollback. */
export interface WorkingSet {
  flush(): void;
  forget(): void;
}

/**
 * Group commit. Changes are synchronous functions; those that come in one turn of the event loop run together in one
 * transaction, as far as that takes about two milliseconds; the others follow in the next turn. Two promises can be had:
 * `applied` resolves after the COMMIT, for what is only a hint or can be lost
 * without harm; `durable` resolves when the change is on the disk. The event loop never waits for the disk, and what
 * is applied is seen at once: by other changes, by reads, and by those who subscribed.
 *
 * A change that throws has a bug: its group is rolled back and every change runs again in a transaction of its own, so
 * that only the guilty one fails. A disk that is full or fails rejects the whole group, and nothing of it took effect.
 */
export class Committer {
  readonly #database: Database;
  readonly #durability: Durability;
  readonly #working: WorkingSet;
  readonly #clock: Clock;
  readonly #listeners = new Set<(change: LedgerChange) => void>();
  #queue: Change[] = [];
  #running: Promise<void> | null = null;
  #reported: LedgerChange[] = [];
  #state: 'open' | 'closed' | 'dead' = 'open';

  constructor(parts: { database: Database; durability: Durability; working: WorkingSet; clock: Clock }) {
    this.#database = parts.database;
    this.#durability = parts.durability;
    this.#working = parts.working;
    this.#clock = parts.clock;
  }

  /** Whether there are changes that have not been carried out: what is read now does not show them. */
  get hasWaiting(): boolean {
    return this.#queue.length > 0;
  }

  applied<T>(work: () => T): Promise<T> {
    return this.#enqueue(work, 'applied');
  }

  durable<T>(work: () => T): Promise<T> {
    return this.#enqueue(work, 'durable-now');
  }

  /** Also durable, but a few milliseconds later, which delays no caller: syncs are shared with others. */
  durableSoon<T>(work: () => T): Promise<T> {
    return this.#enqueue(work, 'durable-soon');
  }

  /** Sees what is applied. */
  async read<T>(work: () => T): Promise<T> {
    if (this.#state === 'dead') return never();
    if (this.#state === 'closed') throw new Error('the ledger is closed');
    try {
      return work();
    } catch (error) {
      throw this.#database.troubleOf(error) ?? error;
    }
  }

  /** The same for work of many statements, which all see one state. */
  readTogether<T>(work: () => T): Promise<T> {
    return this.read(() => this.#database.reading(work));
  }

  subscribe(listener: (change: LedgerChange) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Called by a change, to report it to listeners once it is applied, in order. */
  tell(change: LedgerChange): void {
    this.#reported.push(change);
  }

  /** Takes no more changes, and waits for those that it has. */
  async close(): Promise<void> {
    if (this.#state === 'open') this.#state = 'closed';
    await this.#running;
    await this.#durability.idle();
  }

  /** Behaves as if the process had died: waiting changes are dropped, and no more answers are given. */
  die(): void {
    this.#state = 'dead';
    this.#queue = [];
    this.#listeners.clear();
  }

  #enqueue<T>(work: () => T, answerWhen: AnswerWhen): Promise<T> {
    if (this.#state === 'dead') return never();
    if (this.#state === 'closed') return Promise.reject(new Error('the ledger is closed'));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let answer: T;
    this.#queue.push({
      answerWhen,
      run: () => {
        answer = work();
      },
      resolve: () => resolve(answer),
      reject,
    });
    this.#running ??= this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#clock.turn();
      const waiting = this.#queue;
      this.#queue = [];
      const taken = this.#commit(waiting);
      // Changes that did not fit into this turn go before those that came meanwhile.
      if (taken < waiting.length && this.#state !== 'dead') this.#queue = [...waiting.slice(taken), ...this.#queue];
    }
    this.#running = null;
  }

  /** As many as there is time for, in order, but at least one; returns how many. */
  #commit(waiting: readonly Change[]): number {
    this.#reported = [];
    const begunAt = this.#clock.elapsed();
    let taken = 0;
    try {
      this.#database.transaction(() => {
        for (const change of waiting) {
          if (taken > 0 && this.#clock.elapsed() - begunAt > LONGEST_TURN_MS) break;
          taken += 1;
          change.run();
        }
        this.#working.flush();
      });
    } catch (error) {
      this.#working.forget();
      // If not even the transaction could begin, the result would be the same for each of them.
      const hasBegun = taken > 0;
      if (!hasBegun) taken = waiting.length;
      const group = waiting.slice(0, taken);
      const trouble = this.#database.troubleOf(error);
      if (trouble === null && group.length > 1 && hasBegun) {
        for (const change of group) this.#commit([change]);
      } else {
        for (const { reject } of group) reject(trouble ?? error);
      }
      return taken;
    }
    this.#promise(waiting.slice(0, taken));
    this.#tellAll();
    return taken;
  }

  #promise(group: readonly Change[]): void {
    const durable: Change[] = [];
    for (const change of group) {
      if (change.answerWhen === 'applied') change.resolve();
      else durable.push(change);
    }
    if (durable.length === 0) return;
    const isUrgent = durable.some(({ answerWhen }) => answerWhen === 'durable-now');
    this.#durability.wait({ isUrgent }).then(
      () => this.#answer(() => durable.forEach(({ resolve }) => void resolve())),
      (error: unknown) => this.#answer(() => durable.forEach(({ reject }) => void reject(error))),
    );
  }

  #answer(answer: () => void): void {
    if (this.#state !== 'dead') answer();
  }

  #tellAll(): void {
    const changes = this.#reported;
    this.#reported = [];
    for (const change of changes) {
      for (const listener of this.#listeners) {
        try {
          listener(change);
        } catch (error) {
          // Neither this change's fault, which was applied, nor the next one's: the process must hear of it.
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    }
  }
}

/**
 * Workers and users of the API wait for the group that is being committed. A commit has its own price, however little
 * is in it; and on a busy machine time passes while this process does not run.
 */
const LONGEST_TURN_MS = 2;

type AnswerWhen = 'applied' | 'durable-now' | 'durable-soon';

interface Change {
  readonly answerWhen: AnswerWhen;
  readonly run: () => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A dead process does not answer. */
function never(): Promise<never> {
  return new Promise(() => {});
}
