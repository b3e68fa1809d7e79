import { admitFinds, wantedFinds, whenFound } from '../../../domain/discovery.ts';
import type { Found } from '../../../domain/found.ts';
import { whenHeldBack, whenUsed } from '../../../domain/job-progress.ts';
import { holdAfter, type ItemHold } from '../../../domain/job-wait.ts';
import { addUsage, NO_USAGE, type Usage } from '../../../domain/usage.ts';
import type { Returns } from '../../../ports/compose-ledger.ts';
import type { DueTimes, SettleAnswer, SettledItem, SettlePart } from '../../../ports/ledger.ts';
import { isHeldBack, type ReleaseCause, type ReturnCause } from '../../../ports/return-cause.ts';
import type { BatchRef } from '../../../ports/work-queue.ts';
import { type Batch, type HeldBatch, isHeld } from './batches.ts';
import type { Books } from './books.ts';
import type { JobEntry } from './jobs.ts';
import { batchIdOf, batchIdOfToken, keyOfBatchId } from './lease-rows.ts';
import { isRecordedBefore, settleItem, strike } from './settling.ts';

/** How work comes back: done, given back, recalled, or lost. A settle is answered when it is durable. */
export class EmbeddedReturns implements Returns {
  readonly #books: Books;

  constructor(books: Books) {
    this.#books = books;
  }

  settle(parts: readonly SettlePart[], _now: number): Promise<readonly SettleAnswer[]> {
    return this.#books.durableSoon(() => {
      const settled = new Map<string, Settled>();
      const answers = parts.map((part) => this.#settlePart(part, settled));
      for (const [jobId, { entry, items, usage, finds }] of settled) {
        if (finds.length > 0) this.#addFound(entry, finds);
        this.#books.tell({ kind: 'settled', jobId, items, ...(usage.length > 0 && { usage }) });
      }
      return answers;
    });
  }

  release(token: string, because: ReleaseCause, now: number, usage?: Usage): Promise<boolean> {
    return this.#books.durable(() => {
      const batch = this.#books.held(token);
      if (batch === null) return false;
      const entry = this.#books.jobOf(batch);
      let hold: ItemHold | null = null;
      if (entry !== null) {
        if (isHeldBack(because)) hold = holdAfter(entry.record, because, now);
        const used = whenUsed(entry.record, usage);
        const record = isHeldBack(because) ? whenHeldBack(used, because, now) : used;
        if (record !== entry.record) this.#books.write(entry, record);
      }
      this.#takeBack(batch, because, hold);
      return true;
    });
  }

  recall(refs: readonly BatchRef[], _now: number): Promise<number> {
    return this.#books.applied(() => {
      let recalled = 0;
      for (const { batchId } of refs) {
        const batch = this.#books.tables.batches.get(keyOfBatchId(batchId));
        if (batch === undefined || batch.hold !== null) continue;
        this.#takeBack(batch, 'recalled');
        recalled += 1;
      }
      return recalled;
    });
  }

  expire(readTimes: () => DueTimes | null, limit: number): Promise<{ leases: number; queued: number }> {
    // A third strike ends an item, and a reported end must survive a crash of the machine. Most looks find nothing; but a
    // change that waits, such as a worker's being abandoned, comes first.
    const isIdle = !this.#books.hasWaiting && this.#overdue(readTimes()).length === 0;
    if (isIdle) return Promise.resolve({ leases: 0, queued: 0 });
    return this.#books.durable(() => {
      const ended = { leases: 0, queued: 0 };
      const times = readTimes();
      for (const batch of this.#overdue(times).slice(0, limit)) {
        if (times !== null && isHeld(batch)) {
          ended.leases += 1;
          this.#strike(batch, times.now);
          this.#takeBack(batch, 'expired');
        } else {
          ended.queued += 1;
          this.#takeBack(batch, 'lost');
        }
      }
      return ended;
    });
  }

  #settlePart(part: SettlePart, settled: Map<string, Settled>): SettleAnswer {
    const batch = this.#books.held(part.token);
    const entry = batch === null ? null : this.#books.jobOf(batch);
    if (batch === null || entry === null) return this.#settleWithoutLease(part);
    const ended = settled.get(part.jobId) ?? { entry, items: [], usage: NO_USAGE, finds: [] };
    for (const settlement of part.items) {
      const item = settleItem(this.#books.tables, entry, batch, settlement);
      if (item === null) continue;
      ended.items.push(item);
      ended.usage = addUsage(ended.usage, settlement.usage);
      const { outcome } = settlement;
      if (outcome.kind !== 'failed' && outcome.found !== undefined) ended.finds.push(outcome.found);
    }
    if (ended.items.length > 0) settled.set(part.jobId, ended);
    if (batch.items.length === 0) this.#books.tables.batches.remove(batch);
    else this.#books.tables.batches.changed(batch);
    return 'recorded';
  }

  /** What was found by items that end in one step is looked up and appended together. */
  #addFound(entry: JobEntry, finds: readonly Found[]): void {
    const { num, record } = entry;
    const { total } = record.counts;
    const wanted = wantedFinds(record, finds);
    const known = this.#books.tables.itemIds.known(num, total, wanted.items);
    const { items, counts } = admitFinds(record, wanted, known);
    this.#books.insertItems(num, total, items);
    this.#books.write(entry, whenFound(record, counts));
    if (items.length > 0) this.#books.tell({ kind: 'job', job: entry.record, because: 'items' });
  }

  #settleWithoutLease({ jobId, token, items }: SettlePart): SettleAnswer {
    const entry = this.#books.tables.jobs.get(jobId);
    if (entry === null) return 'fenced';
    if (items.every((settlement) => isRecordedBefore(this.#books.tables, entry, settlement))) return 'recorded';
    this.#books.write(entry, { ...entry.record, fenced: entry.record.fenced + 1 });
    this.#books.tell({ kind: 'fenced', jobId, batchId: batchIdOfToken(token) });
    return 'fenced';
  }

  #strike(batch: HeldBatch, now: number): void {
    const entry = this.#books.jobOf(batch);
    const items = entry === null ? [] : strike(this.#books.tables, entry, batch, now);
    if (entry !== null && items.length > 0) this.#books.tell({ kind: 'settled', jobId: entry.record.jobId, items });
  }

  #takeBack(batch: Batch, because: ReturnCause, hold: ItemHold | null = null): void {
    const entry = this.#books.jobOf(batch);
    if (entry === null) return;
    if (batch.items.length === 0) {
      this.#books.tables.batches.remove(batch);
      return;
    }
    const items = batch.items.length;
    this.#books.tables.takeBack(entry, batch, hold);
    this.#books.tell({ kind: 'returned', jobId: entry.record.jobId, batchId: batchIdOf(batch.key), because, items });
  }

  /** Oldest first over all jobs, so that a job with much to end cannot starve the others. */
  #overdue(times: DueTimes | null): Batch[] {
    if (times === null) return [];
    const overdue: Batch[] = [];
    for (const batch of this.#books.tables.batches.all()) {
      if (batch.hold === null ? batch.dueAt < times.queuedBefore : batch.dueAt <= times.now) overdue.push(batch);
    }
    return overdue.sort((one, other) => one.dueAt - other.dueAt);
  }
}

/** What ended in one step, of one job. */
interface Settled {
  readonly entry: JobEntry;
  readonly finds: Found[];
  readonly items: SettledItem[];
  usage: Usage;
}
