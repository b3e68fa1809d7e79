import { finalStatusOf, whenSettled } from '../../domain/job-progress.ts';
import type { SettleAnswer, SettledItem, Settlement, SettlePart } from '../../ports/ledger.ts';
import { atOnce } from './at-once.ts';
import { num } from './attributes.ts';
import { type Batch, batchOfRow, type FlyingItem, packItems, unchanged } from './batch-row.ts';
import type { Books } from './books.ts';
import { readInputs, readOutcomes } from './chunk.ts';
import type { FailureGroups } from './failure-groups.ts';
import { deltaAction, hotAction, hotDelta, type ProgressRecord } from './hot-change.ts';
import { batchIdOfToken, batchKey, parseBatchId } from './keys.ts';
import { writeMarks } from './marks.ts';
import { type OutcomeEntry, outcomeEntry, outcomeRows } from './outcome-log.ts';
import type { Action } from './table.ts';

/**
 * How items end: one transaction removes them from their batch, keeps how they ended, and counts them. The batch's row
 * is the fence: it must be as it was read, with this token, or nothing is changed.
 */
export class Settling {
  readonly #books: Books;
  readonly #groups: FailureGroups;

  constructor(books: Books, groups: FailureGroups) {
    this.#books = books;
    this.#groups = groups;
  }

  async settle(parts: readonly SettlePart[]): Promise<readonly SettleAnswer[]> {
    const answers: SettleAnswer[] = parts.map(() => 'recorded');
    const places = [...parts.entries()].flatMap(([place, part]) =>
      slicesOf(part).map((slice) => ({ place, part: slice })),
    );
    const byJob = Map.groupBy(places, ({ part }) => part.jobId);
    await atOnce(JOBS_AT_ONCE, [...byJob.values()], async (ofJob) => {
      for (const group of groupsOf(ofJob)) {
        const settled = await this.#settleGroup(group.map(({ part }) => part));
        for (const [index, { place }] of group.entries()) if (settled[index] === 'fenced') answers[place] = 'fenced';
      }
    });
    return answers;
  }

  /** Parts of one job with different tokens. */
  async #settleGroup(parts: readonly SettlePart[]): Promise<readonly SettleAnswer[]> {
    let isShut = false;
    return await this.#books.untilDone(async () => {
      const batches = await this.#held(parts);
      const ends = parts.map((part, index) => endsOf(part, batches[index] ?? null, isShut));
      const live = ends.filter((end) => end !== null && end.settled.length > 0) as BatchEnds[];
      const outcome = live.length === 0 ? 'done' : await this.#record(live, isShut);
      if (outcome === 'shut') isShut = true;
      if (outcome !== 'done') return undefined;
      return await Promise.all(
        parts.map((part, index) => (ends[index] === null ? this.#withoutLease(part) : ('recorded' as const))),
      );
    });
  }

  async #held(parts: readonly SettlePart[]): Promise<readonly (Batch | null)[]> {
    const names = parts.map(({ token }) => parseBatchId(batchIdOfToken(token)));
    const keys = names.map((name) => (name === null ? NOWHERE : batchKey(name)));
    const rows = await this.#books.table.getAll(keys);
    return rows.map((row, index) => {
      const batch = row === null ? null : batchOfRow(row);
      return batch?.hold?.token === parts[index]?.token ? batch : null;
    });
  }

  /** `again`: a row has changed since it was read. `shut`: the job was cancelled, which leaves less to settle. */
  async #record(ends: readonly BatchEnds[], isShut: boolean): Promise<'done' | 'again' | 'shut'> {
    const [first] = ends;
    if (first === undefined) return 'done';
    const { jobId, name } = first.batch;
    const { actions, changes } = await endActions(this.#books, this.#groups, ends);
    const delta = hotDelta((record) => ends.reduce(progressOf, record));
    const hot = deltaAction(jobId, delta, { inc: name.inc, shut: isShut });
    const answer = await this.#books.table.transact([hot, ...actions]);
    if (answer.kind === 'refused') return answer.at.includes(0) ? 'shut' : 'again';
    this.#books.tell([{ kind: 'settled', jobId, items: changes }]);
    return 'done';
  }

  /** The lease is lost; but it may have been lost because just this was recorded, and the answer did not arrive. */
  async #withoutLease(part: SettlePart): Promise<SettleAnswer> {
    const { table } = this.#books;
    const job = await this.#books.readJob(part.jobId);
    if (job === null) return 'fenced';
    const batchId = batchIdOfToken(part.token);
    const name = parseBatchId(batchId);
    const recorded = name === null ? [] : await readOutcomes(table, name.inc, name.chunk);
    if (part.items.every((settlement) => isRecorded(recorded, settlement))) return 'recorded';
    await table.transact([hotAction(part.jobId, { fenced: 1 }, {}, { inc: job.inc })]);
    this.#books.tell([{ kind: 'fenced', jobId: part.jobId, batchId }]);
    return 'fenced';
  }
}

/** What of a batch ends now. In a cancelled job that is the item at its head at the most: the others are cancelled. */
export interface BatchEnds {
  readonly batch: Batch;
  readonly settled: readonly { readonly item: FlyingItem; readonly settlement: Settlement }[];
  readonly left: readonly FlyingItem[];
}

/** Null when the lease is lost. */
function endsOf(part: SettlePart, batch: Batch | null, isShut: boolean): BatchEnds | null {
  if (batch === null) return null;
  const open = new Map((isShut ? batch.unsettled.slice(0, 1) : batch.unsettled).map((item) => [item.seq, item]));
  const settled: { item: FlyingItem; settlement: Settlement }[] = [];
  for (const settlement of part.items) {
    const item = open.get(settlement.seq);
    // Not in the batch any more: recorded by an earlier part, or cancelled. Either way it is final.
    if (item === undefined) continue;
    open.delete(settlement.seq);
    settled.push({ item, settlement });
  }
  return { batch, settled, left: [...open.values()] };
}

/** What becomes of a job's progress when these items end, the last of a batch with it. */
export function progressOf(record: ProgressRecord, { settled, left }: BatchEnds): ProgressRecord {
  return settled.reduce(
    (job, { settlement }, index) =>
      whenSettled(job, settlement.outcome, left.length === 0 && index === settled.length - 1),
    record,
  );
}

/** Everything but the counters: batches, outcomes and groups of failures. Marks are written at once. */
export async function endActions(books: Books, groups: FailureGroups, ends: readonly BatchEnds[]) {
  const failures = ends.flatMap(({ settled }) =>
    settled.flatMap(({ settlement: { outcome } }) => (outcome.kind === 'failed' ? [outcome.failure] : [])),
  );
  const inc = ends[0]?.batch.name.inc ?? '';
  const isOther = failures.length === 0 ? [] : await groups.areOther(inc, failures);
  const ids = await itemIdsOf(books, ends);
  const isOtherOf = isOther.values();
  const counted: { itemId: string; failure: (typeof failures)[number]; isOther: boolean }[] = [];
  const changes: SettledItem[] = [];
  const actions: Action[] = [];
  for (const end of ends) {
    const { batch, settled, left } = end;
    const entries: OutcomeEntry[] = [];
    for (const { item, settlement } of settled) {
      const { outcome, seq, durationMs } = settlement;
      const itemId = ids.get(seq) ?? '';
      const other = outcome.kind === 'failed' && (isOtherOf.next().value ?? false);
      if (outcome.kind === 'failed') counted.push({ itemId, failure: outcome.failure, isOther: other });
      entries.push(outcomeEntry(settlement, item, batch, other));
      const errorType = outcome.kind === 'failed' ? outcome.failure.type : null;
      changes.push({ seq, itemId, durationMs, status: finalStatusOf(outcome), errorType });
    }
    if (entries.length === 0) continue;
    await writeMarks(books.table, inc, batch.name.chunk, entries);
    const rows = outcomeRows(inc, batch.name.chunk, books.clock.id(), entries);
    if (rows.before.length > 0) await books.table.putAll(rows.before);
    actions.push({ put: rows.row });
    actions.push(batchAction(batch, left));
  }
  actions.push(...(await groups.counting(inc, counted)));
  return { actions, changes };
}

function batchAction(batch: Batch, left: readonly FlyingItem[]): Action {
  if (left.length === 0) return { remove: batchKey(batch.name), when: unchanged(batch) };
  return {
    update: batchKey(batch.name),
    change: 'SET #items = :items, #version = :version',
    with: { names: { '#items': 'items' }, values: { ':items': packItems(left), ':version': num(batch.version + 1) } },
    when: unchanged(batch),
  };
}

async function itemIdsOf(books: Books, ends: readonly BatchEnds[]): Promise<ReadonlyMap<number, string>> {
  const chunks = new Map(ends.map(({ batch: { name } }) => [`${name.inc} ${name.chunk}`, name]));
  const ids = new Map<number, string>();
  await atOnce(CHUNKS_AT_ONCE, [...chunks.values()], async ({ inc, chunk }) => {
    for (const [seq, { itemId }] of await readInputs(books.table, inc, chunk)) ids.set(seq, itemId);
  });
  return ids;
}

/** Poison is what the ledger itself records of an attempt; whoever then says how that attempt ended comes too late. */
function isRecorded(entries: readonly OutcomeEntry[], { seq, attempt }: Settlement): boolean {
  return entries.some((entry) => entry.seq === seq && entry.attempt === attempt && entry.failure?.type !== 'poison');
}

/** A failure may make a group of its own, which is an action of the transaction: so only so many of them at once. */
function slicesOf(part: SettlePart): readonly SettlePart[] {
  if (part.items.length <= FAILURES_AT_ONCE) return [part];
  const slices: Settlement[][] = [[]];
  let failures = 0;
  for (const settlement of part.items) {
    const isFailure = settlement.outcome.kind === 'failed';
    if (isFailure && failures === FAILURES_AT_ONCE) {
      slices.push([]);
      failures = 0;
    }
    if (isFailure) failures += 1;
    slices.at(-1)?.push(settlement);
  }
  return slices.map((items) => ({ ...part, items }));
}

/** What goes into one transaction: no token twice, and no more actions than it may have. */
function groupsOf<T extends { readonly part: SettlePart }>(parts: readonly T[]): readonly (readonly T[])[] {
  const groups: T[][] = [];
  let tokens = new Set<string>();
  let weight = Number.POSITIVE_INFINITY;
  for (const one of parts) {
    const failures = one.part.items.filter(({ outcome }) => outcome.kind === 'failed').length;
    const more = ROWS_PER_PART + Math.min(failures, FAILURES_AT_ONCE);
    if (weight + more > ACTIONS || tokens.has(one.part.token)) {
      groups.push([]);
      tokens = new Set();
      weight = 1;
    }
    groups.at(-1)?.push(one);
    tokens.add(one.part.token);
    weight += more;
  }
  return groups;
}

const JOBS_AT_ONCE = 8;
const CHUNKS_AT_ONCE = 8;
const FAILURES_AT_ONCE = 50;
const ACTIONS = 95;
/** The batch, and its outcomes. */
const ROWS_PER_PART = 2;
const NOWHERE = { pk: 'B#', sk: 'B#' };
