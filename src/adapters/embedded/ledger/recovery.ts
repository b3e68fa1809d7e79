import type { StoredArtifact } from '../../../domain/artifact.ts';
import { whenUndone } from '../../../domain/job.ts';
import type { Committer } from './committer.ts';
import { unpackKeys } from './fresh.ts';
import { dropOutcome } from './outcome-undo.ts';
import { attemptsOf, detailOf, endOf, type OutcomeRow } from './outcomes.ts';
import { jobNumOf } from './row-key.ts';
import type { Tables } from './tables.ts';

/**
 * When the ledger opens, the queue of the former process is gone: queued batches are pending again. Workers may still
 * have their batches, if they outlived the process: their leases continue, but not for longer than `leaseGraceMs`, and
 * if one expires, no item is blamed, because its worker may have died with the process.
 */
export function recoverInFlight(
  tables: Tables,
  now: number,
  { leaseGraceMs, diedWithOwner }: { leaseGraceMs: number; diedWithOwner: (worker: string) => boolean },
): void {
  for (const batch of [...tables.batches.all()]) {
    const entry = tables.jobs.byNum(jobNumOf(batch.key));
    if (entry === null) {
      tables.batches.remove(batch);
    } else if (batch.hold === null || diedWithOwner(batch.hold.worker)) {
      tables.takeBack(entry, batch);
    } else {
      batch.dueAt = Math.min(batch.dueAt, now + leaseGraceMs);
      batch.hold.blameless = true;
      tables.batches.changed(batch);
    }
  }
}

/** Whether the bytes of an artifact are where the outcome says, and are the ones it names. */
export type ArtifactCheck = (artifact: StoredArtifact) => Promise<boolean>;

/**
 * After a crash of the machine, outcomes are on the disk, but bytes written just before may not be. Items whose
 * artifacts are missing or damaged are pending again, without a charge. Returns how many there were.
 */
export async function recoverArtifacts(tables: Tables, committer: Committer, check: ArtifactCheck): Promise<number> {
  const upTo = await committer.read(() => tables.fresh.newest());
  let undone = 0;
  let after = 0;
  for (;;) {
    const from = after;
    const row = await committer.read(() => tables.sql.freshAfter.get(from, upTo));
    if (row === undefined) break;
    after = Number(row['id']);
    const keys = unpackKeys(JSON.parse(String(row['keys'])));
    for (let at = 0; at < keys.length; at += CHECKED_AT_ONCE) {
      undone += await recoverSome(tables, committer, keys.slice(at, at + CHECKED_AT_ONCE), check);
    }
  }
  await committer.durable(() => tables.fresh.release(upTo));
  return undone;
}

const CHECKED_AT_ONCE = 16;

async function recoverSome(
  tables: Tables,
  committer: Committer,
  keys: readonly number[],
  check: ArtifactCheck,
): Promise<number> {
  const rows = await committer.read(() => keys.map((key) => outcomeAt(tables, key)).filter((row) => row !== undefined));
  const whole = await Promise.all(
    rows.map(async (row) => {
      const checked = await Promise.all((detailOf(row).artifacts ?? []).map(check));
      return checked.every(Boolean);
    }),
  );
  const torn = rows.filter((_, index) => whole[index] === false);
  if (torn.length === 0) return 0;
  return committer.durable(() => torn.filter((row) => undo(tables, row)).length);
}

function outcomeAt(tables: Tables, key: number): OutcomeRow | undefined {
  return tables.sql.outcome.get(key) as OutcomeRow | undefined;
}

/** The deliveries stay counted: the next attempt must not write under the keys of this one. */
function undo(tables: Tables, row: OutcomeRow): boolean {
  const entry = tables.jobs.byNum(jobNumOf(row.key));
  if (entry === null || outcomeAt(tables, row.key)?.attempt !== row.attempt) return false;
  // The bytes of such a job are being deleted on purpose.
  if (entry.record.removing === true) return false;
  const earlier = attemptsOf(row, detailOf(row)).slice(0, -1);
  dropOutcome(tables, entry, row);
  tables.sql.insertReturned.run(row.key, row.attempt, 0, earlier.length === 0 ? null : JSON.stringify(earlier));
  tables.jobs.write(entry, whenUndone(entry.record, endOf(row)));
  return true;
}
