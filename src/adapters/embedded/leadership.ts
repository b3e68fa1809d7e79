import { isDue } from '../../domain/due.ts';
import type { Lead, Leadership } from '../../ports/leadership.ts';
import type { Committer } from './ledger/committer.ts';
import type { Statements } from './ledger/statements.ts';

/** A row next to the jobs. One process owns the ledger, but several controllers may want to lead. */
export class EmbeddedLeadership implements Leadership {
  readonly #sql: Statements;
  readonly #committer: Committer;
  /** The leader, if it overtook another. In memory: a leader in an earlier run of this process died with it. */
  #overtaker: string | null = null;

  constructor(sql: Statements, committer: Committer) {
    this.#sql = sql;
    this.#committer = committer;
  }

  lead(holder: string, until: number, now: number): Promise<Lead> {
    return this.#committer.durable(() => {
      const leader = this.#leader();
      const isFree = leader === undefined || leader.holder === holder || isDue(leader.until, now, until - now);
      if (!isFree) return false;
      if (leader?.holder !== holder) this.#overtaker = leader === undefined ? null : holder;
      this.#sql.setLeader.run(holder, until);
      return this.#overtaker === holder ? 'overtook' : 'leads';
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
