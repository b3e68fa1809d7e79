import { admitFinds, wantedFinds } from '../../../domain/discovery.ts';
import type { Discovery } from '../../../domain/discovery-counts.ts';
import type { Found } from '../../../domain/found.ts';
import type { Settlement } from '../../../ports/ledger.ts';
import type { Action } from '../dynamo/table.ts';
import type { Books } from './books.ts';
import { inputRows } from './chunk.ts';
import { sameEpoch } from './job-book.ts';
import { type JobRows, metaRow } from './job-rows.ts';
import { CHUNK_ITEMS } from './keys.ts';
import { knownItems } from './known-items.ts';

/** Items that a settle adds to its job, as actions of its transaction. */
export interface Finding {
  readonly job: JobRows;
  readonly counts: Discovery;
  readonly actions: readonly Action[];
  /** The epoch that the job must have, and the next one; null if nothing is added: then only counters change. */
  readonly epoch: { readonly now: number; readonly next: number } | null;
  committed(): Promise<void>;
  /** The transaction was refused. */
  refused(): Promise<void>;
}

/**
 * How these finds change the job. New items take the places after the existing ones, also in its list of ids, so the
 * job's row is part of the transaction and must be unchanged: two concurrent settles with finds happen one after the
 * other. `moved`: look again. Null if the job is gone.
 */
export async function findingOf(
  books: Books,
  jobId: string,
  inc: string,
  finds: readonly Found[],
): Promise<Finding | 'moved' | null> {
  const job = await books.readJob(jobId);
  if (job?.inc !== inc) return null;
  const { record, epoch } = job;
  const { total } = record.counts;
  const wanted = wantedFinds(record, finds);
  const known = wanted.items.length === 0 ? [] : await knownItems(books, job, total, wanted.items);
  if (known === 'moved') return 'moved';
  const { items, counts } = admitFinds(record, wanted, known);
  if (items.length === 0) {
    return { job, counts, actions: [], epoch: null, committed: async () => {}, refused: async () => {} };
  }
  const index = await books.ids.append(
    job,
    items.map(({ itemId }) => itemId),
  );
  if (index === 'moved') return 'moved';
  const after: JobRows = { ...job, epoch: epoch + 1, runs: index.runs };
  const rows = inputRows(inc, total, items);
  return {
    job,
    counts,
    actions: [{ put: metaRow(after), when: sameEpoch(job) }, ...rows.map((row): Action => ({ put: row }))],
    epoch: { now: epoch, next: epoch + 1 },
    committed: () => index.committed(),
    refused: async () => {
      if (!(await hasNewestRun(books, jobId, after))) await index.lost();
    },
  };
}

/**
 * A transaction may be refused because it was already applied: if its reply was lost for longer than a token is
 * remembered.
 */
export async function hasNewestRun(books: Books, jobId: string, { inc, runs }: JobRows): Promise<boolean> {
  const job = await books.readJob(jobId);
  const mine = runs.at(-1)?.id;
  return job?.inc === inc && mine !== undefined && job.runs.some(({ id }) => id === mine);
}

export function foundOf({ outcome }: Settlement): Found | undefined {
  return outcome.kind === 'failed' ? undefined : outcome.found;
}

/** The most that finds take of a transaction: some of the items may already exist. */
export interface FindRoom {
  readonly rows: number;
  readonly bytes: number;
}

const NO_ROOM: FindRoom = { rows: 0, bytes: 0 };

export function roomOf(settlements: readonly Settlement[]): FindRoom {
  return settlements.reduce((sum, settlement) => addRoom(sum, roomOfOne(settlement)), NO_ROOM);
}

export function addRoom(one: FindRoom, other: FindRoom): FindRoom {
  return { rows: one.rows + other.rows, bytes: one.bytes + other.bytes };
}

/** A row for each hundred items, and one more where they begin in the middle of a chunk; the same again for groups. */
function roomOfOne(settlement: Settlement): FindRoom {
  const found = foundOf(settlement);
  if (found === undefined || found.items.length === 0) return NO_ROOM;
  const chunks = Math.ceil(found.items.length / CHUNK_ITEMS) + 1;
  const hasGroups = found.items.some(({ group }) => group !== undefined);
  const bytes = JSON.stringify(found.items).length;
  return { rows: (hasGroups ? 2 : 1) * chunks + Math.floor(bytes / BYTES_PER_PIECE), bytes };
}

/** Fewer than fit into a row: it is the number of rows that matters. */
const BYTES_PER_PIECE = 300_000;
