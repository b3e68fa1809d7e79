import { whenHeldBack, whenReturned, whenUsed } from '../../../domain/job-progress.ts';
import { holdAfter, type ItemHold } from '../../../domain/job-wait.ts';
import { leftByCancel } from '../../../domain/open-status.ts';
import { kindWhenBack } from '../../../domain/pending-order.ts';
import { poisonEnd } from '../../../domain/poison.ts';
import { isPoison, strikesAfterLoss } from '../../../domain/strikes.ts';
import { fitUsage, type Usage } from '../../../domain/usage.ts';
import type { DueTimes, LatestTimes, LedgerChange, Settlement } from '../../../ports/ledger.ts';
import { isHeldBack, type ReturnCause } from '../../../ports/return-cause.ts';
import { atOnce } from '../at-once.ts';
import { type Key, num } from '../dynamo/attributes.ts';
import { setting } from '../dynamo/expressions.ts';
import type { Action } from '../dynamo/table.ts';
import { type Batch, batchOfRow, DUE_SHARDS, deliveriesOf, dueShard, type FlyingItem, unchanged } from './batch-row.ts';
import type { Books } from './books.ts';
import type { FailureGroups } from './failure-groups.ts';
import { deltaAction, hotDelta, sameWait, waitSet } from './hot-change.ts';
import { type BatchName, batchIdOf, batchKey } from './keys.ts';
import { returnMark } from './outcome-log.ts';
import { poolRow } from './pool.ts';
import { type BatchEnds, outcomeActions, progressOf } from './settling.ts';

/** How work comes back unfinished: given back, recalled, overdue, or from a dead worker. */
export class Returning {
  readonly #books: Books;
  readonly #groups: FailureGroups;

  constructor(books: Books, groups: FailureGroups) {
    this.#books = books;
    this.#groups = groups;
  }

  /**
   * False if the batch is gone, or no longer as expected. `diedAt` only for a worker's death, which is held against
   * items; `now` only if a host is the cause.
   */
  async takeBack(
    name: BatchName,
    because: ReturnCause,
    isWanted: (batch: Batch) => boolean,
    diedAt: () => number | null = () => null,
    { now = 0, usage }: { readonly now?: number; readonly usage?: Usage | undefined } = {},
  ): Promise<boolean> {
    const { table } = this.#books;
    return await this.#books.untilDone(async () => {
      const row = await table.get(batchKey(name));
      const batch = row === null ? null : batchOfRow(row);
      if (batch === null || !isWanted(batch)) return false;
      const job = await this.#books.readJob(batch.jobId);
      const isLeft = job !== null && job.inc === name.inc;
      if (!isLeft || (job.isShut && batch.hold === null)) {
        // The batch no longer matters: the job is gone, or was cancelled while the batch waited.
        const kept = isLeft ? this.#kept(batch, batch.unsettled) : [];
        await table.transact([{ remove: batchKey(name), when: unchanged(batch) }, ...kept]);
        return false;
      }
      const back = returned(batch, job.isShut, diedAt());
      const hold = isHeldBack(because) ? holdAfter(job.record, because, now) : null;
      const { actions, changes } = await this.#actions(back, job.isShut, hold);
      const delta = hotDelta((record) => {
        const settled = progressOf(whenUsed(record, usage), back.ends);
        if (back.left.length === 0) return settled;
        const state = job.isShut ? { ...settled, status: 'cancelled' as const } : settled;
        return whenReturned(state, batch.hold === null ? 'queued' : 'in_progress', back.left.length);
      });
      const pooled = job.isShut ? 0 : back.left.length;
      const { record } = job;
      const counted = { ...delta, add: { ...delta.add, pooled }, usage: fitUsage(record.usage, delta.usage) };
      const wait = isHeldBack(because) ? waitSet(record, whenHeldBack(record, because, now)) : {};
      const guard = { inc: name.inc, shut: job.isShut, ...sameWait(wait, record) };
      const hot = deltaAction(batch.jobId, counted, guard, wait);
      const answer = await table.transact([hot, ...actions]);
      if (answer.kind === 'refused') return undefined;
      this.#books.tell([...changes, ...returnChange(back, because)]);
      return true;
    });
  }

  /**
   * What is overdue, earliest first over all jobs. The index is a little behind, so each is looked at again; and leases
   * that were renewed stand in it where they once ended, before those of workers that are dead: they do not count, and
   * they must not be taken for the end of the list.
   *
   * Each lease is judged by a time that was read after it, and ended only if it has not changed since. So a clock that is
   * set in the middle of a call ends no lease that was granted or renewed by the new time.
   */
  async expire(readTimes: () => DueTimes | null, limit: number): Promise<{ leases: number; queued: number }> {
    const ended = { leases: 0, queued: 0 };
    const looked = new Set<string>();
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const wanted = limit - ended.leases - ended.queued;
      const times = readTimes();
      if (times === null) break;
      const overdue = await this.#overdue(times, wanted, looked);
      await atOnce(BATCHES_AT_ONCE, overdue, async ({ key }) => {
        const kind = await this.#expireOne(key, readTimes);
        if (kind !== null) ended[kind] += 1;
      });
      if (overdue.length < wanted || ended.leases + ended.queued >= limit) break;
      for (const { key } of overdue) looked.add(nameOf(key));
    }
    return ended;
  }

  /** Without those already examined: the index may still show them where they were. */
  async #overdue({ now, queuedBefore }: DueTimes, wanted: number, looked: ReadonlySet<string>) {
    const { table } = this.#books;
    const shards = Array.from({ length: DUE_SHARDS }, (_, shard) => shard);
    const most = wanted + looked.size;
    const found = await Promise.all([
      ...shards.map((shard) => table.due(dueShard('leased', shard), now, most)),
      // Queued before, not at, that time.
      ...shards.map((shard) => table.due(dueShard('queued', shard), queuedBefore - 1, most)),
    ]);
    return found
      .flat()
      .filter(({ key }) => !looked.has(nameOf(key)))
      .sort((a, b) => a.at - b.at)
      .slice(0, wanted);
  }

  async #expireOne(key: Key, readTimes: () => DueTimes | null): Promise<'leases' | 'queued' | null> {
    const row = await this.#books.table.get(key);
    if (row === null) return null;
    const batch = batchOfRow(row);
    let times = readTimes();
    if (times === null) return null;
    const { name, hold } = batch;
    if (hold !== null && hold.until > times.now) return await this.#dueLater(batch, hold.until);
    const isOverdue = ({ hold: held, queuedAt }: Batch): boolean => {
      times = readTimes();
      if (times === null || (held === null) !== (hold === null)) return false;
      return held === null ? queuedAt < times.queuedBefore : held.until <= times.now;
    };
    if (hold === null) return (await this.takeBack(name, 'lost', isOverdue)) ? 'queued' : null;
    return (await this.takeBack(name, 'expired', isOverdue, () => times?.now ?? null)) ? 'leases' : null;
  }

  /** Renewed since it came into the index: see `renewLease`. */
  async #dueLater(batch: Batch, until: number): Promise<null> {
    const isAsRead = unchanged(batch, { withUntil: true });
    await this.#books.table.update(batchKey(batch.name), setting({ dueAt: num(until) }), isAsRead);
    return null;
  }

  /** By the index alone: a lease that was renewed since comes into its place there with the next `expire`. */
  async clampTimes(readLatest: () => LatestTimes | null): Promise<number> {
    const { table } = this.#books;
    let clamped = 0;
    for (let shard = 0; shard < DUE_SHARDS; shard += 1) {
      const latest = readLatest();
      if (latest === null) break;
      const leased = await table.dueAfter(dueShard('leased', shard), latest.until, MOST_LEASES);
      const queued = await table.dueAfter(dueShard('queued', shard), latest.queuedAt, MOST_LEASES);
      const rows = await table.getAll([...leased, ...queued].map(({ key }) => key));
      const batches = rows.filter((row) => row !== null).map(batchOfRow);
      const done = await atOnce(BATCHES_AT_ONCE, batches, (batch) => this.#clamp(batch, readLatest()));
      clamped += done.filter(Boolean).length;
    }
    return clamped;
  }

  async #clamp(batch: Batch, latest: LatestTimes | null): Promise<boolean> {
    const { hold } = batch;
    if (latest === null) return false;
    if ((hold === null ? batch.queuedAt : hold.until) <= (hold === null ? latest.queuedAt : latest.until)) return false;
    const time = num(hold === null ? latest.queuedAt : latest.until);
    return await this.#books.table.update(
      batchKey(batch.name),
      setting({ [hold === null ? 'queuedAt' : 'until']: time, dueAt: time }),
      unchanged(batch, { withUntil: true }),
    );
  }

  /** Leases of a dead worker expire now. It is rare, so no index is kept for it. */
  async abandon(worker: string, now: number): Promise<number> {
    const { table } = this.#books;
    let abandoned = 0;
    for (let shard = 0; shard < DUE_SHARDS; shard += 1) {
      const held = await table.due(dueShard('leased', shard), Number.MAX_SAFE_INTEGER, MOST_LEASES);
      const rows = await table.getAll(held.map(({ key }) => key));
      const batches = rows.filter((row) => row !== null).map(batchOfRow);
      const its = batches.filter(({ hold }) => hold?.worker === worker && hold.until > now);
      const ended = await atOnce(BATCHES_AT_ONCE, its, (batch) =>
        table.update(
          batchKey(batch.name),
          setting({ until: num(now), dueAt: num(now) }),
          unchanged(batch, { withUntil: true }),
        ),
      );
      abandoned += ended.filter(Boolean).length;
    }
    return abandoned;
  }

  async #actions(
    back: Returned,
    isShut: boolean,
    hold: ItemHold | null,
  ): Promise<{ actions: Action[]; changes: LedgerChange[] }> {
    const { batch, ends, left } = back;
    const { inc, chunk } = batch.name;
    const poisoned = ends.settled.length === 0 ? null : await outcomeActions(this.#books, this.#groups, [ends]);
    const { clock } = this.#books;
    const byKind = isShut ? [] : Map.groupBy(left, ({ strikes }) => kindWhenBack(strikes));
    const pool = [...byKind].map(
      ([kind, items]): Action => ({ put: poolRow(inc, chunk, kind, clock.id(), items, hold) }),
    );
    const changes: LedgerChange[] =
      poisoned === null ? [] : [{ kind: 'settled', jobId: batch.jobId, items: poisoned.changes }];
    const removal: Action = { remove: batchKey(batch.name), when: unchanged(batch, { withUntil: true }) };
    return { actions: [removal, ...(poisoned?.actions ?? []), ...pool, ...this.#kept(batch, back.marked)], changes };
  }

  /** Deliveries and strikes stay with the items. */
  #kept({ name }: Batch, items: readonly FlyingItem[]): readonly Action[] {
    const known = items.filter(({ deliveries, strikes }) => deliveries > 0 || strikes > 0);
    return known.length === 0 ? [] : [{ put: returnMark(name.inc, name.chunk, this.#books.clock.id(), known) }];
  }
}

const BATCHES_AT_ONCE = 4;
const MOST_LEASES = 100_000;
/** So that a call ends: ten thousand renewed leases, for a reaper that takes two hundred at a time. */
const MOST_ROUNDS = 50;

interface Returned {
  readonly batch: Batch;
  /** Items whose workers died too often. */
  readonly ends: BatchEnds;
  /** Items that are pending again; in a cancelled job the one that was not cancelled with it. */
  readonly left: readonly FlyingItem[];
  /** Items whose deliveries and strikes are to be kept. */
  readonly marked: readonly FlyingItem[];
}

function returned(batch: Batch, isShut: boolean, now: number | null): Returned {
  const delivered = batch.unsettled.map((item) => ({ ...item, deliveries: deliveriesOf(batch, item) }));
  const { hold, suspect } = batch;
  const lost =
    now === null || hold === null
      ? null
      : { isJobCancelled: isShut, isBlameless: false, suspect, begunSeq: hold.begun };
  const struck =
    lost === null ? delivered : delivered.map((item) => ({ ...item, strikes: strikesAfterLoss(lost, item) }));
  const poisoned = struck.filter(({ strikes }) => isPoison(strikes));
  const others = struck.filter(({ strikes }) => !isPoison(strikes));
  const left = isShut ? others.slice(0, leftByCancel(hold !== null)) : others;
  const settled = poisoned.map((item) => ({ item, settlement: poisonOf(batch, item, now ?? 0) }));
  return { batch, ends: { batch, settled, left: others, cancelled: [] }, left, marked: others };
}

function poisonOf({ hold }: Batch, item: FlyingItem, now: number): Settlement {
  return poisonEnd(item, hold?.claimedAt ?? now, now);
}

function returnChange({ batch, left }: Returned, because: ReturnCause): LedgerChange[] {
  const { jobId, name } = batch;
  return left.length === 0 ? [] : [{ kind: 'returned', jobId, batchId: batchIdOf(name), because, items: left.length }];
}

function nameOf({ pk, sk }: Key): string {
  return `${pk}\n${sk}`;
}
