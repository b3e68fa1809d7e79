import { type NewItem, repeatedItems } from '../../../src/domain/item.ts';
import {
  applyJobEvent,
  isActive,
  isRefusal,
  type JobEvent,
  type JobRecord,
  type NewJob,
  newJobRecord,
  type Refusal,
} from '../../../src/domain/job.ts';
import type { JobStatus } from '../../../src/domain/job-steps.ts';
import type { CreateAnswer, JobBook, JobDraft, Page, PageRequest } from '../../../src/ports/ledger.ts';
import { MemoryBooks } from './books.ts';
import { type DraftShelf, MemoryJobDraft } from './draft.ts';
import { appendItem, firstOf, type JobEntry, makeCancelled, newJobEntry } from './entries.ts';

export abstract class MemoryJobBook extends MemoryBooks implements JobBook {
  #jobsMade = 0;

  createJob(job: NewJob, items: readonly NewItem[], now: number): Promise<CreateAnswer> {
    return this.step<CreateAnswer>(() => {
      const present = this.entries.get(job.jobId);
      if (present !== undefined) return { kind: 'exists', job: present.record };
      const repeated = repeatedItems(items);
      if (repeated.length > 0) return { kind: 'duplicates', repeated };

      this.#jobsMade += 1;
      const entry = newJobEntry(this.#jobsMade, newJobRecord(job, items.length, now, String(this.#jobsMade)));
      for (const item of items) appendItem(entry, item);
      this.entries.set(job.jobId, entry);
      this.tell({ kind: 'job', job: entry.record, because: 'created' });
      return { kind: 'created', job: entry.record };
    });
  }

  draftJob(): Promise<JobDraft> {
    return this.step(() => {
      this.#jobsMade += 1;
      return new MemoryJobDraft(this.draftShelf(), this.#jobsMade);
    });
  }

  /** The guard of what a draft may do: nothing of it is in the books before it is placed. */
  protected draftShelf(): DraftShelf {
    return {
      step: (work) => this.step(work),
      find: (jobId) => this.entries.get(jobId),
      place: (entry) => {
        this.entries.set(entry.record.jobId, entry);
        this.tell({ kind: 'job', job: entry.record, because: 'created' });
      },
    };
  }

  job(jobId: string): Promise<JobRecord | null> {
    return this.step(() => this.entries.get(jobId)?.record ?? null);
  }

  jobs({ status, page }: { status: JobStatus | null; page: PageRequest }): Promise<Page<JobRecord>> {
    return this.step(() => {
      const newestFirst = this.inOrder().reverse();
      const beyond = newestFirst.filter((entry) => page.after === null || entry.number < Number(page.after));
      return firstPage(beyond, page.limit, (job) => status === null || job.status === status);
    });
  }

  activeJobs(page: PageRequest): Promise<Page<JobRecord>> {
    return this.step(() => {
      const beyond = this.inOrder().filter((entry) => page.after === null || entry.number > Number(page.after));
      return firstPage(beyond, page.limit, isActive);
    });
  }

  /** Oldest first: a job that was drafted stands where its draft was begun. */
  protected inOrder(): JobEntry[] {
    return [...this.entries.values()].sort((one, other) => one.number - other.number);
  }

  changeJob(jobId: string, event: JobEvent, now: number): Promise<JobRecord | Refusal | 'missing'> {
    return this.step(() => {
      const entry = this.entries.get(jobId);
      if (entry === undefined) return 'missing';
      const next = this.decide(entry.record, event, now);
      if (isRefusal(next) || next === entry.record) return next;
      if (event.kind === 'cancel') this.cancelItems(entry);
      this.write(entry, next);
      this.tell({ kind: 'job', job: next, because: event.kind });
      return next;
    });
  }

  removeJob(jobId: string, incarnation: string): Promise<boolean> {
    return this.step(() => {
      const entry = this.entries.get(jobId);
      if (entry === undefined || !this.mayGo(entry.record, incarnation)) return false;
      for (const batch of entry.batches) this.forget(batch);
      return this.entries.delete(jobId);
    });
  }

  protected mayGo(job: JobRecord, incarnation: string): boolean {
    return job.incarnation === incarnation && job.removing === true;
  }

  /** The guard of every change of state: completion, too, happens only if it is allowed at this very moment. */
  protected decide(job: JobRecord, event: JobEvent, now: number): JobRecord | Refusal {
    return applyJobEvent(job, event, now);
  }

  /** What no worker holds is cancelled; of a batch in progress that is all but the item that the worker is at. */
  protected cancelItems(entry: JobEntry): void {
    for (const batch of entry.batches) {
      const kept = batch.hold === null ? undefined : firstOf(batch.unsettled);
      for (const item of batch.unsettled) {
        if (item === kept) continue;
        batch.unsettled.delete(item);
        makeCancelled(item);
      }
      if (kept === undefined) this.forget(batch);
    }
    for (const item of entry.returned) makeCancelled(item);
    for (const item of entry.suspects) makeCancelled(item);
    for (const item of entry.items.slice(entry.cursor)) makeCancelled(item);
    entry.returned.clear();
    entry.suspects.clear();
    entry.cursor = entry.items.length;
  }
}

/** The cursor is the number of the last job on the page. */
function firstPage(
  entries: readonly JobEntry[],
  limit: number,
  isWanted: (job: JobRecord) => boolean,
): Page<JobRecord> {
  const wanted = entries.filter((entry) => isWanted(entry.record));
  const shown = wanted.slice(0, limit);
  const last = shown.at(-1);
  return {
    entries: shown.map((entry) => entry.record),
    next: last !== undefined && wanted.length > shown.length ? String(last.number) : null,
  };
}
