import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { FailureGroup } from '../../domain/failure-group.ts';
import type { ItemRecord, NewItem, RecoveredItem } from '../../domain/item.ts';
import type { JobEvent, JobRecord, NewJob, Refusal } from '../../domain/job.ts';
import type { JobStatus } from '../../domain/job-steps.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Leadership } from '../../ports/leadership.ts';
import {
  type AddAnswer,
  type ClaimAnswer,
  type CreateAnswer,
  type Dispatched,
  type DueTimes,
  type ItemFilter,
  type JobDraft,
  type LatestTimes,
  type Ledger,
  type LedgerChange,
  type Page,
  type PageRequest,
  type RecoverAnswer,
  type ReleaseCause,
  type ReopenAnswer,
  type RetryFilter,
  type SettleAnswer,
  type SettlePart,
  type WorkOrder,
  workOrderOf,
} from '../../ports/ledger.ts';
import type { BatchRef } from '../../ports/work-queue.ts';
import { atOnce } from './at-once.ts';
import { num, text } from './dynamo/attributes.ts';
import { Table } from './dynamo/table.ts';
import { IdIndex } from './ids/id-index.ts';
import { DynamoLeadership } from './leadership.ts';
import { Books } from './ledger/books.ts';
import { dispatchJob } from './ledger/dispatching.ts';
import { FailureGroups } from './ledger/failure-groups.ts';
import { Purge } from './ledger/garbage.ts';
import { DynamoItemBook } from './ledger/item-book.ts';
import { DynamoJobBook } from './ledger/job-book.ts';
import { batchIdOfToken, parseBatchId } from './ledger/keys.ts';
import { beginItem, claimBatches, renewLease } from './ledger/leasing.ts';
import { News } from './ledger/news.ts';
import { Returning } from './ledger/returning.ts';
import { Settling } from './ledger/settling.ts';

export interface DynamoLedgerParts {
  readonly dynamo: DynamoDBClient;
  readonly tableName: string;
  readonly clock: Clock;
  /** Whether to hear what other processes do, and to sweep behind those that died: a controller does, a worker need not. */
  readonly listen: boolean;
  readonly onTrouble?: (where: string, error: unknown) => void;
}

export interface DynamoLedgerOpened {
  readonly ledger: Ledger;
  readonly leadership: Leadership;
  /** A small write, to see whether there is room for others. */
  probe(): Promise<void>;
  /** Ends removals that a process had begun and could not end. One that listens also does so by itself, every hour. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export function openDynamoLedger(parts: DynamoLedgerParts): DynamoLedgerOpened {
  const { dynamo, tableName, clock, listen, onTrouble = () => {} } = parts;
  const table = new Table(dynamo, tableName, clock);
  const ids = new IdIndex({ table, clock });
  const news = new News({ table, clock, listenEveryMs: listen ? LISTEN_EVERY_MS : null, onTrouble });
  const purge = new Purge({ table, ids, clock, sweepEveryMs: listen ? SWEEP_EVERY_MS : null, onTrouble });
  const books = new Books({ table, clock, ids, news });
  return {
    ledger: new DynamoLedger(books, news, purge),
    leadership: new DynamoLeadership(table),
    probe: () => table.put({ pk: text('PROBE'), sk: text('PROBE'), at: num(clock.now()) }),
    sweep: () => purge.sweep(),
    async close() {
      await news.close();
      await purge.close();
    },
  };
}

const LISTEN_EVERY_MS = 250;
const SWEEP_EVERY_MS = 3_600_000;

/** The ledger on one DynamoDB table: `ledger/keys.ts` says what lies where, and each file beside it does one thing. */
class DynamoLedger implements Ledger {
  readonly #books: Books;
  readonly #news: News;
  readonly #jobs: DynamoJobBook;
  readonly #items: DynamoItemBook;
  readonly #settling: Settling;
  readonly #returning: Returning;

  constructor(books: Books, news: News, purge: Purge) {
    const groups = new FailureGroups(books.table);
    this.#books = books;
    this.#news = news;
    this.#jobs = new DynamoJobBook(books, purge);
    this.#items = new DynamoItemBook(books, groups);
    this.#settling = new Settling(books, groups);
    this.#returning = new Returning(books, groups);
  }

  subscribe(listener: (change: LedgerChange) => void): () => void {
    return this.#news.subscribe(listener);
  }

  createJob(job: NewJob, items: readonly NewItem[], now: number): Promise<CreateAnswer> {
    return this.#jobs.createJob(job, items, now);
  }

  draftJob(): Promise<JobDraft> {
    return this.#jobs.draftJob();
  }

  job(jobId: string): Promise<JobRecord | null> {
    return this.#jobs.job(jobId);
  }

  jobs(query: { readonly status: JobStatus | null; readonly page: PageRequest }): Promise<Page<JobRecord>> {
    return this.#jobs.jobs(query);
  }

  activeJobs(page: PageRequest): Promise<Page<JobRecord>> {
    return this.#jobs.activeJobs(page);
  }

  changeJob(jobId: string, event: JobEvent, now: number): Promise<JobRecord | Refusal | 'missing'> {
    return this.#jobs.changeJob(jobId, event, now);
  }

  removeJob(jobId: string, incarnation: string): Promise<boolean> {
    return this.#jobs.removeJob(jobId, incarnation);
  }

  addItems(jobId: string, items: readonly NewItem[], openUntil: number, now: number): Promise<AddAnswer> {
    return this.#items.addItems(jobId, items, openUntil, now);
  }

  item(jobId: string, itemId: string): Promise<ItemRecord | null> {
    return this.#items.item(jobId, itemId);
  }

  items(jobId: string, filter: ItemFilter, page: PageRequest): Promise<Page<ItemRecord>> {
    return this.#items.items(jobId, filter, page);
  }

  itemsAt(jobId: string, first: number, limit: number): Promise<readonly ItemRecord[]> {
    return this.#items.itemsAt(jobId, first, limit);
  }

  reopen(jobId: string, filter: RetryFilter, page: PageRequest, openUntil: number, now: number): Promise<ReopenAnswer> {
    return this.#items.reopen(jobId, filter, page, openUntil, now);
  }

  recover(jobId: string, by: string, items: readonly RecoveredItem[], now: number): Promise<RecoverAnswer> {
    return this.#items.recover(jobId, by, items, now);
  }

  failureGroups(jobId: string, max: number): Promise<readonly FailureGroup[]> {
    return this.#items.failureGroups(jobId, max);
  }

  dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    return dispatchJob(this.#books, jobId, itemsPerBatch, now);
  }

  claim(refs: readonly BatchRef[], worker: string, until: number, now: number): Promise<readonly ClaimAnswer[]> {
    return claimBatches(this.#books, refs, worker, until, now);
  }

  async workOrder(jobId: string): Promise<WorkOrder | null> {
    const job = await this.job(jobId);
    return job === null ? null : workOrderOf(job);
  }

  begin(token: string, seq: number): Promise<boolean> {
    return beginItem(this.#books, token, batchIdOfToken(token), seq);
  }

  async renew(tokens: readonly string[], until: number): Promise<readonly string[]> {
    const held = await atOnce(RENEWALS_AT_ONCE, tokens, (token) =>
      renewLease(this.#books, token, batchIdOfToken(token), until),
    );
    return tokens.filter((_, index) => !held[index]);
  }

  settle(parts: readonly SettlePart[], _now: number): Promise<readonly SettleAnswer[]> {
    return this.#settling.settle(parts);
  }

  async release(token: string, because: ReleaseCause, _now: number): Promise<boolean> {
    const name = parseBatchId(batchIdOfToken(token));
    return name !== null && (await this.#returning.takeBack(name, because, ({ hold }) => hold?.token === token));
  }

  async recall(refs: readonly BatchRef[], _now: number): Promise<number> {
    const names = [...new Set(refs.map(({ batchId }) => batchId))].map(parseBatchId).filter((name) => name !== null);
    const recalled = await atOnce(RENEWALS_AT_ONCE, names, (name) =>
      this.#returning.takeBack(name, 'recalled', ({ hold }) => hold === null),
    );
    return recalled.filter(Boolean).length;
  }

  expire(readTimes: () => DueTimes | null, limit: number): Promise<{ leases: number; queued: number }> {
    return this.#returning.expire(readTimes, limit);
  }

  clampTimes(readLatest: () => LatestTimes | null): Promise<number> {
    return this.#returning.clampTimes(readLatest);
  }

  abandon(worker: string, now: number): Promise<number> {
    return this.#returning.abandon(worker, now);
  }
}

const RENEWALS_AT_ONCE = 8;
