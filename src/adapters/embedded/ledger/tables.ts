import { whenReturned } from '../../../domain/job-progress.ts';
import type { ItemHold } from '../../../domain/job-wait.ts';
import type { Clock } from '../../../ports/clock.ts';
import { type Batch, Batches, type BatchItem } from './batches.ts';
import type { WorkingSet } from './committer.ts';
import { FailureGroups } from './failure-groups.ts';
import { Fresh } from './fresh.ts';
import { ItemGroups } from './item-groups.ts';
import { ItemIds } from './item-ids.ts';
import { type JobEntry, Jobs } from './jobs.ts';
import { rowKey } from './row-key.ts';
import type { Statements } from './statements.ts';

/** The tables, with what is kept of them in memory: what the books of the ledger work on. */
export class Tables implements WorkingSet {
  readonly sql: Statements;
  readonly jobs: Jobs;
  readonly batches: Batches;
  readonly itemIds: ItemIds;
  readonly groups: ItemGroups;
  readonly failureGroups: FailureGroups;
  readonly fresh: Fresh;

  constructor(sql: Statements, clock: Clock, { afterMachineCrash }: { readonly afterMachineCrash: boolean }) {
    this.sql = sql;
    this.jobs = new Jobs(sql);
    this.batches = new Batches(sql);
    this.itemIds = new ItemIds(sql);
    this.groups = new ItemGroups(sql);
    this.failureGroups = new FailureGroups(sql);
    this.fresh = new Fresh(sql, clock, afterMachineCrash);
  }

  /**
   * Items that were out and are not final: pending again or, if their job is cancelled, permanently in the place where
   * pending ones would be.
   */
  putBack(entry: JobEntry, items: readonly BatchItem[], hold: ItemHold | null = null): void {
    for (const { seq, deliveries, strikes, history } of items) {
      const key = rowKey(entry.num, seq);
      if (hold === null) this.sql.insertReturned.run(key, deliveries, strikes, history);
      else this.sql.insertHeld.run(key, deliveries, strikes, history, hold.at, hold.until);
    }
  }

  /** Ends a batch early. */
  takeBack(entry: JobEntry, batch: Batch, hold: ItemHold | null = null): void {
    this.batches.remove(batch);
    this.putBack(entry, batch.items, hold);
    const from = batch.hold === null ? 'queued' : 'in_progress';
    this.jobs.write(entry, whenReturned(entry.record, from, batch.items.length));
  }

  flush(): void {
    this.failureGroups.flush();
    this.fresh.flush();
    this.batches.flush();
    this.jobs.flush();
  }

  forget(): void {
    this.jobs.forget();
    this.batches.forget();
    this.itemIds.forget();
    this.failureGroups.forget();
    this.fresh.forget();
  }
}
