import type { Clock } from '../../../ports/clock.ts';
import type { Committer } from './committer.ts';
import { lastKey, rowKey } from './row-key.ts';
import type { Statements } from './statements.ts';

/**
 * Deletes the rows of jobs that were removed, a few thousand at a time, so that nothing else waits long. The jobs
 * themselves are gone already; a process that dies here leaves the rest to the next.
 */
export class Removal {
  readonly #sql: Statements;
  readonly #committer: Committer;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #isWanted = false;
  #running: Promise<void> | null = null;

  constructor(parts: { sql: Statements; committer: Committer; clock: Clock }) {
    this.#sql = parts.sql;
    this.#committer = parts.committer;
    this.#clock = parts.clock;
  }

  /** There may be something to delete. */
  poke(): void {
    this.#isWanted = true;
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (this.#isWanted && !signal.aborted) {
      this.#isWanted = false;
      try {
        this.#isWanted = (await this.#committer.applied(() => this.#step())) || this.#isWanted;
      } catch {
        // Deleting also needs space in the log. No caller waits for it, so it can wait until there is some.
        this.#isWanted = true;
        await this.#clock.sleep(RETRY_MS, signal);
      }
    }
    this.#running = null;
  }

  /** False when there is nothing left. */
  #step(): boolean {
    const removal = this.#sql.firstRemoval.get() as { num: number; items: number; done: number } | undefined;
    if (removal === undefined) return false;
    const { num, items, done } = removal;
    // There are fewer buckets of ids than items, so that the same range of places covers all tables.
    const range = [rowKey(num, done), Math.min(rowKey(num, done + ROWS_PER_STEP - 1), lastKey(num))] as const;
    this.#sql.deleteItemsBetween.run(...range);
    this.#sql.deleteOutcomesBetween.run(...range);
    this.#sql.deleteReturnedBetween.run(...range);
    this.#sql.deleteGroupsBetween.run(...range);
    this.#sql.deleteIdsBetween.run(...range);
    this.#sql.deleteIdRunsBetween.run(...range);
    if (done + ROWS_PER_STEP < items) this.#sql.updateRemoval.run(done + ROWS_PER_STEP, num);
    else this.#sql.deleteRemoval.run(num);
    return true;
  }
}

const ROWS_PER_STEP = 2000;
const RETRY_MS = 1000;
