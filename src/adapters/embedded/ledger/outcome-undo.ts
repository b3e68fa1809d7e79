import { earlierAttempts } from '../../../domain/attempts.ts';
import { type AttemptRecord, NEXT_ITEM_STATUS, type RecoveredItem, recoveryOf } from '../../../domain/item.ts';
import type { JobEntry } from './jobs.ts';
import { attemptsOf, detailOf, type OutcomeDetail, type OutcomeRow, statusCode } from './outcomes.ts';
import type { Tables } from './tables.ts';

/** Undoes an outcome: its row is deleted, and a failure is no longer counted in a group. */
export function dropOutcome(tables: Tables, entry: JobEntry, row: OutcomeRow): void {
  const { failure, isOther = false } = detailOf(row);
  if (failure !== undefined) {
    const itemId = String(tables.sql.itemId.get(row.key)?.['item_id']);
    tables.failureGroups.remove(entry.num, failure, isOther, itemId);
  }
  tables.sql.deleteOutcome.run(row.key);
}

/** A failed item becomes a success through what a re-extraction read from its page; its failure is history. */
export function recoverItem(tables: Tables, entry: JobEntry, row: OutcomeRow, recovered: RecoveredItem): void {
  const before = detailOf(row);
  const { attempt, tries, startedAt, durationMs, scraperVersion, scraperId }: AttemptRecord = recoveryOf(recovered);
  const detail: OutcomeDetail = {
    artifacts: recovered.artifacts,
    earlier: earlierAttempts(attemptsOf(row, before)),
    ...(before.strikes === undefined ? {} : { strikes: before.strikes }),
    ...(scraperVersion === undefined ? {} : { scraperVersion }),
    ...(scraperId === undefined ? {} : { scraperId }),
  };
  dropOutcome(tables, entry, row);
  const status = statusCode(NEXT_ITEM_STATUS.failed.recover);
  const text = JSON.stringify(detail);
  tables.sql.insertOutcome.run(row.key, status, null, attempt, tries, startedAt, durationMs, text);
  tables.fresh.add(row.key);
}
