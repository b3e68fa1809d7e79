import { isRecorded } from '../../../domain/attempts.ts';
import { whenFound } from '../../../domain/discovery.ts';
import { newFailure } from '../../../domain/failure-group.ts';
import { finalStatusOf, type Progress, whenSettled } from '../../../domain/job-progress.ts';
import { keptOf } from '../../../domain/outcome.ts';
import type { SettleAnswer, SettledItem, Settlement, SettlePart } from '../../../ports/ledger.ts';
import { atOnce } from '../at-once.ts';
import { num } from '../dynamo/attributes.ts';
import { setting } from '../dynamo/expressions.ts';
import type { Action } from '../dynamo/table.ts';
import { type Batch, batchOfRow, deliveriesOf, type FlyingItem, openItems, packItems, unchanged } from './batch-row.ts';
import type { Books } from './books.ts';
import { readOutcomes } from './chunk.ts';
import type { FailureGroups, FailureToCount } from './failure-groups.ts';
import { addRoom, type Finding, type FindRoom, findingOf, foundOf, roomOf } from './finding.ts';
import { deltaAction, hotAction, hotDelta } from './hot-change.ts';
import { batchIdOfToken, batchKey, parseBatchId } from './keys.ts';
import { writeMarks } from './marks.ts';
import { type OutcomeEntry, outcomeEntry, outcomeRows } from './outcome-log.ts';
import { UsagePlaces } from './usage-places.ts';

/**
 * How items end: one transaction removes them from their batch, records how they ended, and counts them. The batch's
 * row is the fence: it must be unchanged, with this token, or nothing is changed.
 */
export class Settling {
  readonly #books: Books;
  readonly #groups: FailureGroups;
  readonly #places: UsagePlaces;
  /** By job, while there is something to record. */
  readonly #lines = new Map<string, Waiting[]>();

  constructor(books: Books, groups: FailureGroups) {
    this.#books = books;
    this.#groups = groups;
    this.#places = new UsagePlaces(books);
  }

  async settle(parts: readonly SettlePart[]): Promise<readonly SettleAnswer[]> {
    return await Promise.all(parts.map((part) => this.#settlePart(part)));
  }

  async #settlePart(part: SettlePart): Promise<SettleAnswer> {
    const answers: SettleAnswer[] = [];
    for (const slice of slicesOf(part)) answers.push(await this.#enqueue(slice));
    return answers.includes('fenced') ? 'fenced' : 'recorded';
  }

  /**
   * What arrives while others of the same job are being recorded waits, and is recorded with everything else that waits
   * by then.
   */
  #enqueue(part: SettlePart): Promise<SettleAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<SettleAnswer>();
    const line = this.#lines.get(part.jobId);
    const waiting: Waiting = { part, resolve, reject };
    if (line !== undefined) line.push(waiting);
    else {
      this.#lines.set(part.jobId, [waiting]);
      void this.#settleLine(part.jobId);
    }
    return promise;
  }

  async #settleLine(jobId: string): Promise<void> {
    // Everything settled in this turn of the event loop goes together.
    await this.#books.clock.turn();
    const line = this.#lines.get(jobId) ?? [];
    while (line.length > 0) {
      const group = firstGroup(line);
      line.splice(0, group.length);
      try {
        const parts = group.map(({ part }) => part);
        const answers = await this.#books.inTurn(jobId, () => this.#settleGroup(jobId, parts));
        for (const [index, { resolve }] of group.entries()) resolve(answers[index] ?? 'fenced');
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#lines.delete(jobId);
  }

  /** Parts of one job with different tokens. */
  async #settleGroup(jobId: string, parts: readonly SettlePart[]): Promise<readonly SettleAnswer[]> {
    let isShut = false;
    return await this.#books.untilDone<readonly SettleAnswer[]>(async () => {
      const batches = await this.#held(parts);
      const ends = parts.map((part, index) => endsOf(part, batches[index] ?? null, isShut));
      const live = ends.filter((end) => end !== null && end.settled.length > 0) as BatchEnds[];
      const outcome = live.length === 0 ? 'done' : await this.#record(live, isShut);
      if (outcome === 'again') return undefined;
      if (outcome === 'shut') {
        const job = await this.#books.readJob(jobId);
        // The job is gone, and its rows are about to be.
        if (job === null || live.some(({ batch }) => batch.name.inc !== job.inc)) return parts.map(() => 'fenced');
        isShut = job.isShut;
        return undefined;
      }
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
    const { actions, changes } = await outcomeActions(this.#books, this.#groups, ends);
    const batches = ends.map(({ batch, left }) => batchAction(batch, left));
    const finds = ends.flatMap(({ settled }) => settled.flatMap(({ settlement }) => foundOf(settlement) ?? []));
    const finding = finds.length === 0 ? undefined : await findingOf(this.#books, jobId, name.inc, finds);
    if (finding === 'moved') return 'again';
    // The job is gone: the next read of it shows that.
    if (finding === null) return 'shut';
    const progress = (record: Progress) => withFinding(ends.reduce(progressOf, record), finding);
    const delta = hotDelta(progress);
    const usage = await this.#places.fit(jobId, name.inc, delta.usage);
    const guard = { inc: name.inc, shut: isShut, ...(finding?.epoch && { epoch: finding.epoch.now }) };
    const more = finding?.epoch ? { numbers: { epoch: finding.epoch.next } } : {};
    const hot = deltaAction(jobId, { ...delta, usage }, guard, more);
    const answer = await this.#books.table.transact([hot, ...batches, ...actions, ...(finding?.actions ?? [])]);
    if (answer.kind === 'refused') {
      await finding?.refused();
      return answer.at.includes(0) ? 'shut' : 'again';
    }
    await finding?.committed();
    this.#books.tell([{ kind: 'settled', jobId, items: changes, ...(usage.length > 0 && { usage }) }]);
    if (finding?.epoch) this.#books.tellJob({ ...finding.job.record, ...progress(finding.job.record) }, 'items');
    return 'done';
  }

  /** The lease is lost; but perhaps because exactly this was recorded, and the answer did not arrive. */
  async #withoutLease(part: SettlePart): Promise<SettleAnswer> {
    const { table } = this.#books;
    const job = await this.#books.readJob(part.jobId);
    if (job === null) return 'fenced';
    const batchId = batchIdOfToken(part.token);
    const name = parseBatchId(batchId);
    const recorded = name === null ? [] : await readOutcomes(table, name.inc, name.chunk);
    const bySeq = Map.groupBy(recorded, ({ seq }) => seq);
    if (part.items.every(({ seq, attempt }) => isRecorded(bySeq.get(seq) ?? [], attempt))) return 'recorded';
    await table.transact([hotAction(part.jobId, { fenced: 1 }, {}, { inc: job.inc })]);
    this.#books.tell([{ kind: 'fenced', jobId: part.jobId, batchId }]);
    return 'fenced';
  }
}

/** Which items of a batch end now. In a cancelled job that is at most the first: the others are cancelled. */
export interface BatchEnds {
  readonly batch: Batch;
  readonly settled: readonly { readonly item: FlyingItem; readonly settlement: Settlement }[];
  readonly left: readonly FlyingItem[];
  /** Items that leave the batch because their job was cancelled, with the delivery that the batch's claim made. */
  readonly cancelled: readonly FlyingItem[];
}

/** Null when the lease is lost. */
function endsOf(part: SettlePart, batch: Batch | null, isShut: boolean): BatchEnds | null {
  if (batch === null) return null;
  const open = new Map(openItems(batch, isShut).map((item) => [item.seq, item]));
  const settled: { item: FlyingItem; settlement: Settlement }[] = [];
  for (const settlement of part.items) {
    const item = open.get(settlement.seq);
    // No longer in the batch: recorded by an earlier part, or cancelled. Either way it is final.
    if (item === undefined) continue;
    open.delete(settlement.seq);
    settled.push({ item, settlement });
  }
  const cancelled = batch.unsettled
    .slice(openItems(batch, isShut).length)
    .map((item) => ({ ...item, deliveries: deliveriesOf(batch, item) }));
  return { batch, settled, left: [...open.values()], cancelled };
}

/** What becomes of a job's progress when these items end, the last of a batch with it. */
export function progressOf(record: Progress, { settled, left }: BatchEnds): Progress {
  return settled.reduce(
    (job, { settlement }, index) => whenSettled(job, settlement, left.length === 0 && index === settled.length - 1),
    record,
  );
}

function withFinding(record: Progress, finding: Finding | undefined): Progress {
  return finding === undefined ? record : whenFound(record, finding.counts);
}

/** Outcomes and groups of failures; not the batches and the counters. What has no place in a transaction is written at once. */
export async function outcomeActions(books: Books, groups: FailureGroups, ends: readonly BatchEnds[]) {
  const failures = ends.flatMap(({ settled }) =>
    settled.flatMap(({ settlement: { outcome } }) => (outcome.kind === 'failed' ? [outcome.failure] : [])),
  );
  const inc = ends[0]?.batch.name.inc ?? '';
  const isOther = failures.length === 0 ? [] : await groups.areOther(inc, failures);
  const ids = await itemIdsOf(books, ends);
  const isOtherOf = isOther.values();
  const counted: FailureToCount[] = [];
  const changes: SettledItem[] = [];
  const actions: Action[] = [];
  for (const end of ends) {
    const { batch, settled, cancelled } = end;
    const entries: OutcomeEntry[] = [];
    for (const { item, settlement } of settled) {
      const { outcome, seq, durationMs } = settlement;
      const itemId = ids.get(seq) ?? '';
      const other = outcome.kind === 'failed' && (isOtherOf.next().value ?? false);
      const kept = keptOf(outcome);
      if (outcome.kind === 'failed') {
        const { failure } = outcome;
        const found = newFailure(itemId, failure, { ...settlement, kept });
        counted.push({ itemId, failure, isOther: other, counted: found });
      }
      entries.push(outcomeEntry(settlement, item, batch, other));
      const errorType = outcome.kind === 'failed' ? outcome.failure.type : null;
      changes.push({ seq, itemId, durationMs, status: finalStatusOf(outcome), errorType, artifacts: kept.length });
    }
    if (entries.length === 0) continue;
    await writeMarks(books.table, inc, batch.name.chunk, entries);
    const rows = outcomeRows(batch.name, batch.hold?.token ?? '', entries, cancelled);
    if (rows.before.length > 0) await books.table.putAll(rows.before);
    actions.push({ put: rows.row });
  }
  actions.push(...(await groups.counting(inc, counted)));
  return { actions, changes };
}

function batchAction(batch: Batch, left: readonly FlyingItem[]): Action {
  if (left.length === 0) return { remove: batchKey(batch.name), when: unchanged(batch) };
  return {
    update: batchKey(batch.name),
    ...setting({ items: packItems(left), version: num(batch.version + 1) }),
    when: unchanged(batch),
  };
}

async function itemIdsOf(books: Books, ends: readonly BatchEnds[]): Promise<ReadonlyMap<number, string>> {
  const names = await atOnce(CHUNKS_AT_ONCE, ends, ({ batch, settled }) =>
    books.names.of(
      batch.name,
      settled.map(({ item }) => item.seq),
    ),
  );
  return new Map(names.flatMap((ofBatch) => [...ofBatch]));
}

/**
 * A failure may create a group, which is an action of the transaction, and finds are rows: so their number is limited.
 */
function slicesOf(part: SettlePart): readonly SettlePart[] {
  if (part.items.length <= FAILURES_AT_ONCE && part.items.every((one) => foundOf(one) === undefined)) return [part];
  const slices: Settlement[][] = [];
  let failures = 0;
  let room = roomOf([]);
  for (const settlement of part.items) {
    const isFailure = settlement.outcome.kind === 'failed';
    const own = roomOf([settlement]);
    const isFull = (isFailure && failures === FAILURES_AT_ONCE) || !isRoomFor(addRoom(room, own));
    if (isFull || slices.length === 0) {
      slices.push([]);
      failures = 0;
      room = roomOf([]);
    }
    if (isFailure) failures += 1;
    room = addRoom(room, own);
    slices.at(-1)?.push(settlement);
  }
  return slices.map((items) => ({ ...part, items }));
}

/** Beside failures and other parts; what one attempt finds may take more, and then has a transaction to itself. */
function isRoomFor({ rows, bytes }: FindRoom): boolean {
  return rows <= FIND_ROWS_AT_ONCE && bytes <= FIND_BYTES_AT_ONCE;
}

interface Waiting {
  readonly part: SettlePart;
  readonly resolve: (answer: SettleAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** What goes into one transaction: no token twice, and no more actions than it may have. */
function firstGroup(waiting: readonly Waiting[]): readonly Waiting[] {
  const tokens = new Set<string>();
  let actions = 1;
  let room = roomOf([]);
  const end = waiting.findIndex(({ part: { token, items } }) => {
    const failures = items.filter(({ outcome }) => outcome.kind === 'failed').length;
    room = addRoom(room, roomOf(items));
    actions += ROWS_PER_PART + Math.min(failures, FAILURES_AT_ONCE);
    const isTooMuch = tokens.size > 0 && (actions + room.rows > ACTIONS || tokens.has(token) || !isRoomFor(room));
    tokens.add(token);
    return isTooMuch;
  });
  return waiting.slice(0, end < 0 ? waiting.length : end);
}

const CHUNKS_AT_ONCE = 8;
const FAILURES_AT_ONCE = 50;
const FIND_ROWS_AT_ONCE = 40;
const FIND_BYTES_AT_ONCE = 1_500_000;
/** One of the hundred is for the job's own row, if something was found. */
const ACTIONS = 95;
/** The batch, and its outcomes. */
const ROWS_PER_PART = 2;
const NOWHERE = { pk: 'B#', sk: 'B#' };
