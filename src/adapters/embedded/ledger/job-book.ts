import { type NewItem, repeatedItems } from '../../../domain/item.ts';
import {
  applyJobEvent,
  isRefusal,
  type JobEvent,
  type JobRecord,
  type NewJob,
  newJobRecord,
  type Refusal,
} from '../../../domain/job.ts';
import type { JobStatus } from '../../../domain/job-steps.ts';
import { leftByCancel } from '../../../domain/open-status.ts';
import type { CreateAnswer, JobBook, JobDraft, Page, PageRequest } from '../../../ports/ledger.ts';
import type { Books } from './books.ts';
import { EmbeddedJobDraft } from './draft.ts';
import type { JobEntry } from './jobs.ts';

/** Jobs on SQLite. */
export class EmbeddedJobBook implements JobBook {
  readonly #books: Books;

  constructor(books: Books) {
    this.#books = books;
  }

  createJob(job: NewJob, items: readonly NewItem[], now: number): Promise<CreateAnswer> {
    return this.#books.durable<CreateAnswer>(() => {
      const present = this.#books.tables.jobs.get(job.jobId);
      if (present !== null) return { kind: 'exists', job: present.record };
      const repeated = repeatedItems(items);
      if (repeated.length > 0) return { kind: 'duplicates', repeated };

      const entry = this.#books.tables.jobs.create((incarnation) => newJobRecord(job, items.length, now, incarnation));
      const { record } = entry;
      // Its number may have been that of a job whose making was rolled back.
      this.#books.tables.itemIds.forgetJob(entry.num);
      this.#books.insertItems(entry.num, 0, items);
      this.#books.tell({ kind: 'job', job: record, because: 'created' });
      return { kind: 'created', job: record };
    });
  }

  draftJob(): Promise<JobDraft> {
    return EmbeddedJobDraft.begin(this.#books);
  }

  job(jobId: string): Promise<JobRecord | null> {
    return this.#books.read(() => this.#books.tables.jobs.get(jobId)?.record ?? null);
  }

  jobs({ status, page }: { status: JobStatus | null; page: PageRequest }): Promise<Page<JobRecord>> {
    const before = page.after === null ? Number.MAX_SAFE_INTEGER : Number(page.after);
    return this.#books.read(() => pageOf(this.#books.tables.jobs.before(before, status, page.limit + 1), page.limit));
  }

  activeJobs({ after, limit }: PageRequest): Promise<Page<JobRecord>> {
    return this.#books.read(() => pageOf(this.#books.tables.jobs.activeAfter(Number(after ?? 0), limit + 1), limit));
  }

  changeJob(jobId: string, event: JobEvent, now: number): Promise<JobRecord | Refusal | 'missing'> {
    return this.#books.durable(() => {
      const entry = this.#books.tables.jobs.get(jobId);
      if (entry === null) return 'missing';
      const next = applyJobEvent(entry.record, event, now);
      if (isRefusal(next) || next === entry.record) return next;
      if (event.kind === 'cancel') this.#takeBackWaiting(entry);
      this.#books.write(entry, next);
      this.#books.tell({ kind: 'job', job: next, because: event.kind });
      return next;
    });
  }

  /** The job is gone at once; its rows are deleted later, a few at a time. */
  removeJob(jobId: string, incarnation: string): Promise<boolean> {
    return this.#books.durable(() => {
      const { jobs, batches, failureGroups, itemIds } = this.#books.tables;
      const entry = jobs.get(jobId);
      if (entry?.record.incarnation !== incarnation || entry.record.removing !== true) return false;
      for (const batch of [...batches.ofJob(entry.num)]) batches.remove(batch);
      failureGroups.removeJob(entry.num);
      this.#books.sql.deleteHostSeen.run(entry.num);
      this.#books.sql.deleteStepSeen.run(entry.num);
      itemIds.forgetJob(entry.num);
      jobs.remove(entry);
      this.#books.sql.insertRemoval.run(entry.num, entry.record.counts.total);
      this.#books.sweepSoon();
      return true;
    });
  }

  /** What no worker has leased is cancelled; of a batch in progress, everything but the item being processed. */
  #takeBackWaiting(entry: JobEntry): void {
    const { batches } = this.#books.tables;
    for (const batch of [...batches.ofJob(entry.num)]) {
      const kept = leftByCancel(batch.hold !== null);
      this.#books.tables.putBack(entry, batch.items.splice(kept));
      if (kept === 0) batches.remove(batch);
      else batches.changed(batch);
    }
  }
}

/**
 * One entry more than the page holds shows that there is a next page. Its cursor is the number of the last job on it.
 */
function pageOf(entries: readonly JobEntry[], limit: number): Page<JobRecord> {
  const shown = entries.slice(0, limit);
  const last = shown.at(-1);
  return {
    entries: shown.map(({ record }) => record),
    next: last !== undefined && entries.length > limit ? String(last.num) : null,
  };
}
