import { completeTally } from '../../../domain/breaker.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { isActive } from '../../../domain/job.ts';
import { completePolicy } from '../../../domain/policy.ts';
import { MAX_JOB_NUM } from './row-key.ts';
import type { Statements } from './statements.ts';

/** A job in memory: its record, and what the record does not contain. */
export interface JobEntry {
  readonly num: number;
  record: JobRecord;
  /** Items from here on have never been dispatched. */
  cursor: number;
  nextBatch: number;
  /** What the row holds now. */
  readonly saved: Saved;
}

interface Saved {
  record: JobRecord;
  isActive: boolean;
  tally: string;
  throttle: string;
  usage: string;
  discovery: string | null;
}

/**
 * The jobs table, behind a cache of parsed records. A change replaces a record in memory; `flush` writes each changed
 * job once per group, counters always and the document only where something in it changed.
 */
export class Jobs {
  readonly #sql: Statements;
  readonly #byId = new Map<string, JobEntry>();
  readonly #byNum = new Map<number, JobEntry>();
  readonly #dirty = new Set<JobEntry>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  get(jobId: string): JobEntry | null {
    return this.#byId.get(jobId) ?? this.#keep(this.#sql.jobById.get(jobId));
  }

  byNum(num: number): JobEntry | null {
    return this.#byNum.get(num) ?? this.#keep(this.#sql.jobByNum.get(num));
  }

  /** A number that no other job gets, for one that is created later. */
  reserveNum(): number {
    const next = this.#sql.nextJobNum.get();
    // The counter has no row before the first job.
    if (next === undefined) this.#sql.firstJobNum.run();
    return checkedNum(next === undefined ? 1 : Number(next['seq']));
  }

  /**
   * Under a reserved number, or the next one. `make` gets the incarnation, which is the number of the row: none is used
   * twice, and older files have it.
   */
  create(make: (incarnation: string) => JobRecord, reserved: number | null = null): JobEntry {
    const draft = make('');
    const saved = savedOf(draft);
    const { lastInsertRowid } = this.#sql.insertJob.run(
      reserved,
      draft.jobId,
      draft.status,
      Number(saved.isActive),
      documentOf(draft),
      draft.counts.total,
      draft.openUntil,
      saved.tally,
      saved.throttle,
    );
    const num = checkedNum(Number(lastInsertRowid));
    const record = make(String(num));
    return this.#remember({ num, record, cursor: 0, nextBatch: 0, saved: savedOf(record) });
  }

  write(entry: JobEntry, record: JobRecord): void {
    entry.record = record;
    this.#dirty.add(entry);
  }

  remove(entry: JobEntry): void {
    this.#sql.deleteJob.run(entry.num);
    this.#dirty.delete(entry);
    this.#byId.delete(entry.record.jobId);
    this.#byNum.delete(entry.num);
  }

  /** Newest first. */
  before(num: number, status: JobRecord['status'] | null, limit: number): JobEntry[] {
    const rows =
      status === null ? this.#sql.jobsBefore.all(num, limit) : this.#sql.jobsOfStatusBefore.all(status, num, limit);
    return rows.map((row) => this.#entryOf(row));
  }

  /** Jobs that the engine has work for, oldest first. */
  activeAfter(num: number, limit: number): JobEntry[] {
    return this.#sql.activeJobsAfter.all(num, limit).map((row) => this.#entryOf(row));
  }

  flush(): void {
    for (const entry of this.#dirty) this.#save(entry);
    this.#dirty.clear();
    if (this.#byId.size > MAX_CACHED) this.forget();
  }

  forget(): void {
    this.#dirty.clear();
    this.#byId.clear();
    this.#byNum.clear();
  }

  #save(entry: JobEntry): void {
    const { record, saved } = entry;
    const { counts } = record;
    if (record.tally !== saved.record.tally) saved.tally = JSON.stringify(record.tally);
    if (record.throttle !== saved.record.throttle) saved.throttle = JSON.stringify(record.throttle);
    if (record.usage !== saved.record.usage) saved.usage = JSON.stringify(record.usage);
    if (record.discovery !== saved.record.discovery) saved.discovery = encodeDiscovery(record);
    this.#sql.updateJob.run(
      counts.total,
      counts.queued,
      counts.inProgress,
      counts.success,
      counts.failed,
      counts.skipped,
      counts.cancelled,
      record.itemsInFlight,
      record.refusals,
      record.fenced,
      record.openUntil,
      saved.tally,
      saved.throttle,
      saved.usage,
      saved.discovery,
      entry.cursor,
      entry.nextBatch,
      entry.num,
    );
    const active = isActive(record);
    if (active !== saved.isActive || !isSameDocument(record, saved.record)) {
      this.#sql.updateJobDocument.run(record.status, Number(active), documentOf(record), entry.num);
      saved.isActive = active;
    }
    saved.record = record;
  }

  #keep(row: unknown): JobEntry | null {
    return row === undefined ? null : this.#remember(decode(row as JobRow));
  }

  #remember(entry: JobEntry): JobEntry {
    this.#byId.set(entry.record.jobId, entry);
    this.#byNum.set(entry.num, entry);
    return entry;
  }

  /** Lists leave the cache unchanged: a caller that goes over all jobs is not working on them. */
  #entryOf(row: unknown): JobEntry {
    const decoded = row as JobRow;
    return this.#byNum.get(decoded.num) ?? decode(decoded);
  }
}

function checkedNum(num: number): number {
  if (num > MAX_JOB_NUM) throw new Error(`a ledger holds ${MAX_JOB_NUM} jobs in its life, and this one has had them`);
  return num;
}

/** More than are at work at a time. Beyond it all are dropped and read again, which is a row each. */
const MAX_CACHED = 1000;

interface JobRow {
  readonly num: number;
  readonly id: string;
  readonly status: JobRecord['status'];
  readonly document: string;
  readonly total: number;
  readonly queued: number;
  readonly in_progress: number;
  readonly success: number;
  readonly failed: number;
  readonly skipped: number;
  readonly cancelled: number;
  readonly items_in_flight: number;
  readonly refusals: number;
  readonly fenced: number;
  readonly open_until: number;
  readonly tally: string;
  readonly throttle: string;
  readonly usage: string;
  readonly discovery: string | null;
  readonly cursor: number;
  readonly next_batch: number;
}

/** What changes with every item has its own columns; everything else of a record is the document. */
type Document = Omit<JobRecord, Counter | 'jobId' | 'incarnation' | 'status'>;
type Counter = (typeof COUNTERS)[number];
const COUNTERS = [
  'counts',
  'itemsInFlight',
  'refusals',
  'fenced',
  'openUntil',
  'tally',
  'throttle',
  'usage',
  'discovery',
] as const satisfies readonly (keyof JobRecord)[];
const IS_COUNTER: ReadonlySet<string> = new Set(COUNTERS);

function documentOf(record: JobRecord): string {
  const { jobId, incarnation, status, ...rest } = record;
  const { counts, itemsInFlight, refusals, fenced, openUntil, tally, throttle, usage, discovery, ...document } = rest;
  return JSON.stringify(document satisfies Document);
}

/** Records are never changed in place, so the same object means the same content. */
function isSameDocument(one: JobRecord, other: JobRecord): boolean {
  // A field that is not there any more is a change, too.
  if (Object.keys(one).length !== Object.keys(other).length) return false;
  for (const name of Object.keys(one) as (keyof JobRecord)[]) {
    if (one[name] !== other[name] && !IS_COUNTER.has(name)) return false;
  }
  return true;
}

function savedOf(record: JobRecord): Saved {
  return {
    record,
    isActive: isActive(record),
    tally: JSON.stringify(record.tally),
    throttle: JSON.stringify(record.throttle),
    usage: JSON.stringify(record.usage),
    discovery: encodeDiscovery(record),
  };
}

/** Nearly all jobs only process what was submitted. */
function encodeDiscovery({ discovery }: JobRecord): string | null {
  return discovery === undefined ? null : JSON.stringify(discovery);
}

function decode(row: JobRow): JobEntry {
  const document: Document = JSON.parse(row.document);
  const record: JobRecord = {
    jobId: row.id,
    incarnation: String(row.num),
    ...document,
    policy: completePolicy(document.policy),
    status: row.status,
    counts: {
      total: row.total,
      queued: row.queued,
      inProgress: row.in_progress,
      success: row.success,
      failed: row.failed,
      skipped: row.skipped,
      cancelled: row.cancelled,
    },
    itemsInFlight: row.items_in_flight,
    refusals: row.refusals,
    fenced: row.fenced,
    openUntil: row.open_until,
    tally: completeTally(JSON.parse(row.tally)),
    throttle: JSON.parse(row.throttle),
    usage: JSON.parse(row.usage),
    ...(row.discovery === null ? {} : { discovery: JSON.parse(row.discovery) }),
  };
  return { num: row.num, record, cursor: row.cursor, nextBatch: row.next_batch, saved: savedOf(record) };
}
