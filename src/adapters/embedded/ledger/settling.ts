import { isRecorded } from '../../../domain/attempts.ts';
import { newFailure } from '../../../domain/failure-group.ts';
import { finalStatusOf, whenSettled } from '../../../domain/job-progress.ts';
import { keptOf } from '../../../domain/outcome.ts';
import { poisonEnd } from '../../../domain/poison.ts';
import { isPoison, strikesAfterLoss } from '../../../domain/strikes.ts';
import type { SettledItem, Settlement } from '../../../ports/ledger.ts';
import type { Batch, BatchItem, HeldBatch } from './batches.ts';
import type { JobEntry } from './jobs.ts';
import { attemptsOf, detailOf, historyOf, insertOutcome, type OutcomeRow } from './outcomes.ts';
import { rowKey } from './row-key.ts';
import type { Tables } from './tables.ts';

/**
 * Records how an item of a batch ended, with the job's counters. Null if it is no longer in the batch: recorded by an
 * earlier part, or cancelled. Either way it is final.
 */
export function settleItem(
  tables: Tables,
  entry: JobEntry,
  batch: Pick<Batch, 'items'>,
  settlement: Settlement,
): SettledItem | null {
  const place = batch.items.findIndex((item) => item.seq === settlement.seq);
  const [item] = place < 0 ? [] : batch.items.splice(place, 1);
  if (item === undefined) return null;
  const { outcome, seq, durationMs } = settlement;
  const key = rowKey(entry.num, seq);
  const failed = outcome.kind === 'failed' ? outcome.failure : null;
  // It must be read only if another process claimed the batch.
  const itemId = item.itemId ?? String(tables.sql.itemId.get(key)?.['item_id']);
  const kept = keptOf(outcome);
  const isOther =
    failed !== null &&
    tables.failureGroups.add(entry.num, failed, newFailure(itemId, failed, { ...settlement, kept })).isOther;
  insertOutcome(tables.sql, key, entry.record, item, settlement, isOther);
  const artifacts = kept.length;
  if (artifacts > 0) tables.fresh.add(key);
  tables.jobs.write(entry, whenSettled(entry.record, settlement, batch.items.length === 0));
  return { seq, itemId, durationMs, status: finalStatusOf(outcome), errorType: failed?.type ?? null, artifacts };
}

/** The lease of these items expired. Those that now have too many strikes end as poison, and are returned. */
export function strike(tables: Tables, entry: JobEntry, batch: HeldBatch, now: number): SettledItem[] {
  const { hold, suspect, items } = batch;
  const lost = {
    isJobCancelled: entry.record.status === 'cancelled',
    isBlameless: hold.blameless,
    suspect,
    begunSeq: hold.begunSeq,
  };
  const poisoned: SettledItem[] = [];
  for (const item of [...items]) {
    item.strikes = strikesAfterLoss(lost, item);
    if (!isPoison(item.strikes)) continue;
    const ended = settleItem(tables, entry, batch, poisonEnd(item, hold.claimedAt, now));
    if (ended !== null) poisoned.push(ended);
  }
  return poisoned;
}

/** Whether exactly this was recorded before: an answer may have been lost. */
export function isRecordedBefore(tables: Tables, entry: JobEntry, { seq, attempt }: Settlement): boolean {
  const key = rowKey(entry.num, seq);
  const row = tables.sql.outcome.get(key) as OutcomeRow | undefined;
  if (row !== undefined) return isRecorded(attemptsOf(row, detailOf(row)), attempt);
  const [returned] = tables.sql.returnedBetween.all(key, key) as unknown as Pick<BatchItem, 'history'>[];
  if (returned !== undefined) return isRecorded(historyOf(returned.history), attempt);
  for (const batch of tables.batches.ofJob(entry.num)) {
    const item = batch.items.find((one) => one.seq === seq);
    if (item !== undefined) return isRecorded(historyOf(item.history), attempt);
  }
  return false;
}
