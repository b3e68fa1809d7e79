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
import { leftByCancel } from '../../../src/domain/open-status.ts';
import type { CreateAnswer, JobBook, JobDraft, Page, PageRequest } from '../../../src/ports/ledger.ts';
import type { MemoryCore } from './core.ts';
import { type DraftShelf, MemoryJobDraft } from './draft.ts';
import { appendItem, type JobEntry, makeCancelled, newJobEntry } from './entries.ts';

/** Jobs. The protected methods are single steps of the bookkeeping, one decision each: tests replace them. */
export class MemoryJobBook implements JobBook {
  protected readonly core: MemoryCore;
  #jobsMade = 0;

  constructor(core: MemoryCore) {
    this.core = core;
  }

  createJob(job: NewJob, items: readonly NewItem[], now: number): Promise<CreateAnswer> {
    return this.core.step<CreateAnswer>(() => {
      const present = this.core.entries.get(job.jobId);
      if (present !== undefined) return { kind: 'exists', job: present.record };
      const repeated = repeatedItems(items);
      if (repeated.length > 0) return { kind: 'duplicates', repeated };

      this.#jobsMade += 1;
      const entry = newJobEntry(this.#jobsMade, newJobRecord(job, items.length, now, String(this.#jobsMade)));
      for (const item of items) appendItem(entry, item);
      this.core.entries.set(job.jobId, entry);
      this.core.tell({ kind: 'job', job: entry.record, because: 'created' });
      return { kind: 'created', job: entry.record };
    });
  }

  draftJob(): Promise<JobDraft> {
    return this.core.step(() => {
      this.#jobsMade += 1;
      return new MemoryJobDraft(this.draftShelf(), this.#jobsMade);
    });
  }

  /** The guard of what a draft may do: nothing of it is in the books before it is placed. */
  protected draftShelf(): DraftShelf {
    return {
      step: (work) => this.core.step(work),
      find: (jobId) => this.core.entries.get(jobId),
      place: (entry) => {
        this.core.entries.set(entry.record.jobId, entry);
        this.core.tell({ kind: 'job', job: entry.record, because: 'created' });
      },
    };
  }

  job(jobId: string): Promise<JobRecord | null> {
    return this.core.step(() => this.core.entries.get(jobId)?.record ?? null);
  }

  jobs({ status, page }: { status: JobStatus | null; page: PageRequest }): Promise<Page<JobRecord>> {
    return this.core.step(() => {
      const newestFirst = this.inOrder().reverse();
      const beyond = newestFirst.filter((entry) => page.after === null || entry.number < Number(page.after));
      return firstPage(beyond, page.limit, (job) => status === null || job.status === status);
    });
  }

  activeJobs(page: PageRequest): Promise<Page<JobRecord>> {
    return this.core.step(() => {
      const beyond = this.inOrder().filter((entry) => page.after === null || entry.number > Number(page.after));
      return firstPage(beyond, page.limit, isActive);
    });
  }

  /** Oldest first: a job that was drafted has the place of its draft. */
  protected inOrder(): JobEntry[] {
    return [...this.core.entries.values()].sort((one, other) => one.number - other.number);
  }

  changeJob(jobId: string, event: JobEvent, now: number): Promise<JobRecord | Refusal | 'missing'> {
    return this.core.step(() => {
      const entry = this.core.entries.get(jobId);
      if (entry === undefined) return 'missing';
      const next = this.decide(entry.record, event, now);
      if (isRefusal(next) || next === entry.record) return next;
      if (event.kind === 'cancel') this.cancelItems(entry);
      this.core.write(entry, next);
      this.core.tell({ kind: 'job', job: next, because: event.kind });
      return next;
    });
  }

  removeJob(jobId: string, incarnation: string): Promise<boolean> {
    return this.core.step(() => {
      const entry = this.core.entries.get(jobId);
      if (entry === undefined || !this.mayGo(entry.record, incarnation)) return false;
      for (const batch of entry.batches) this.core.forget(batch);
      return this.core.entries.delete(jobId);
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
      const kept = leftByCancel(batch.hold !== null);
      for (const item of [...batch.unsettled].slice(kept)) {
        batch.unsettled.delete(item);
        makeCancelled(item);
      }
      if (kept === 0) this.core.forget(batch);
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
