import type { Leadership } from '../../ports/leadership.ts';
import type { Committer } from './committer.ts';
import type { Statements } from './statements.ts';

/** A row beside the jobs. One process owns the ledger, but several controllers in it or through it may want to lead. */
export class EmbeddedLeadership implements Leadership {
  readonly #sql: Statements;
  readonly #committer: Committer;

  constructor(sql: Statements, committer: Committer) {
    this.#sql = sql;
    this.#committer = committer;
  }

  lead(holder: string, until: number, now: number): Promise<boolean> {
    return this.#committer.durable(() => {
      const leader = this.#leader();
      const isFree = leader === undefined || leader.holder === holder || leader.until <= now;
      if (isFree) this.#sql.setLeader.run(holder, until);
      return isFree;
    });
  }

  resign(holder: string): Promise<void> {
    return this.#committer.applied(() => {
      if (this.#leader()?.holder === holder) this.#sql.deleteLeader.run();
    });
  }

  #leader() {
    return this.#sql.leader.get() as { readonly holder: string; readonly until: number } | undefined;
  }
}
