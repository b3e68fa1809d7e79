import { type NewItem, repeatedItems } from '../../../domain/item.ts';
import {
  applyJobEvent,
  isActive,
  isRefusal,
  type JobEvent,
  type JobRecord,
  type NewJob,
  newJobRecord,
  type Refusal,
} from '../../../domain/job.ts';
import type { JobStatus } from '../../../domain/job-steps.ts';
import { fitUsage } from '../../../domain/usage.ts';
import type { CreateAnswer, JobBook, JobDraft, Page, PageRequest } from '../../../ports/ledger.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import { num, textOf } from '../dynamo/attributes.ts';
import type { Action } from '../dynamo/table.ts';
import type { Books } from './books.ts';
import { inputRows } from './chunk.ts';
import { directoryActions } from './directories.ts';
import { DynamoJobDraft, makeActions } from './draft.ts';
import { draftRow, type Garbage, garbageRow, keepAction, type Purge } from './garbage.ts';
import { type HotSet, hotAction, hotSetOf, sameWait } from './hot-change.ts';
import { type JobRows, metaRow } from './job-rows.ts';
import { ACTIVE_JOBS, ALL_JOBS, hotKey, jobsOfStatus, metaKey } from './keys.ts';

/** Jobs on DynamoDB. A change of a job is one transaction, guarded by the epoch at which it was decided. */
export class DynamoJobBook implements JobBook {
  readonly #books: Books;
  readonly #purge: Purge;

  constructor(books: Books, purge: Purge) {
    this.#books = books;
    this.#purge = purge;
  }

  /**
   * Writes the items first, under a new incarnation; then, in one transaction, the job that makes them visible. A
   * process that dies in between leaves a note of what to remove; one that only slept, so long that it was considered
   * dead, finds the note taken and starts over.
   */
  async createJob(job: NewJob, items: readonly NewItem[], now: number): Promise<CreateAnswer> {
    const { table, clock, ids } = this.#books;
    const present = await this.#books.readJob(job.jobId);
    if (present !== null) return { kind: 'exists', job: present.record };
    const repeated = repeatedItems(items);
    if (repeated.length > 0) return { kind: 'duplicates', repeated };

    const inc = clock.id();
    const draft = { inc, jobId: job.jobId, total: items.length };
    if (items.length > 0) {
      await table.put(draftRow(draft, clock.now()));
      await table.putAll(inputRows(inc, 0, items));
    }
    const index = await ids.append(
      { inc, runs: [] },
      items.map(({ itemId }) => itemId),
    );
    if (index === 'moved') throw new Error(`the ids of the job ${job.jobId} that is being made are gone`);
    const record = newJobRecord(job, items.length, now, inc);
    const answer = await table.transact([
      ...makeActions(record, inc, index.runs),
      ...(items.length > 0 ? [keepAction(inc)] : []),
    ]);
    if (answer.kind === 'refused') return await this.#notMade(draft);
    await index.committed();
    this.#books.tellJob(record, 'created');
    return { kind: 'created', job: record };
  }

  async draftJob(): Promise<JobDraft> {
    return await DynamoJobDraft.begin(this.#books, this.#purge);
  }

  /**
   * Either another caller was faster with this id; or another process considered this one dead and removed what it
   * wrote; or this very call succeeded, and its reply was lost for longer than a token lives.
   */
  async #notMade(draft: Garbage): Promise<CreateAnswer> {
    const { table, clock } = this.#books;
    const { inc, jobId, total } = draft;
    const present = await this.#books.readJob(jobId);
    if (present?.inc === inc) return { kind: 'created', job: present.record };
    if (total > 0) await table.put(garbageRow(draft, clock.now()));
    await this.#purge.begin(draft);
    if (present !== null) return { kind: 'exists', job: present.record };
    throw new StorageTrouble(
      'io',
      `another process removed the unfinished job ${jobId} before it was created: try again`,
    );
  }

  async job(jobId: string): Promise<JobRecord | null> {
    return (await this.#books.readJob(jobId))?.record ?? null;
  }

  async jobs({ status, page }: { status: JobStatus | null; page: PageRequest }): Promise<Page<JobRecord>> {
    const directory = status === null ? ALL_JOBS : jobsOfStatus(status);
    return await this.#listed(directory, page, true, (job) => status === null || job.status === status);
  }

  async activeJobs(page: PageRequest): Promise<Page<JobRecord>> {
    return await this.#listed(ACTIVE_JOBS, page, false, isActive);
  }

  /** The cursor is the incarnation of the last job on the page: they sort by the time at which they were made. */
  async #listed(
    directory: string,
    { after, limit }: PageRequest,
    backwards: boolean,
    isWanted: (job: JobRecord) => boolean,
  ): Promise<Page<JobRecord>> {
    const { table } = this.#books;
    const from = after === null ? {} : { after };
    // One more, to know whether there is a next page.
    const rows = await table.first({ pk: directory, backwards, ...from }, limit + 1);
    const onPage = rows.slice(0, limit);
    const jobs = await this.#books.readJobs(onPage.map((row) => textOf(row, 'job')));
    const listed = new Set(onPage.map((row) => textOf(row, 'sk')));
    const last = onPage.at(-1);
    return {
      entries: jobs.filter(({ inc, record }) => listed.has(inc) && isWanted(record)).map(({ record }) => record),
      next: rows.length > limit && last !== undefined ? textOf(last, 'sk') : null,
    };
  }

  async changeJob(jobId: string, event: JobEvent, now: number): Promise<JobRecord | Refusal | 'missing'> {
    return await this.#books.untilDone<JobRecord | Refusal | 'missing'>(async () => {
      const before = await this.#books.readJob(jobId);
      if (before === null) return 'missing';
      const next = applyJobEvent(before.record, event, now);
      if (isRefusal(next) || next === before.record) return next;
      const answer = await this.#books.table.transact(changeActions(before, next, event));
      if (answer.kind === 'refused') return undefined;
      this.#books.tellJob(next, event.kind);
      return next;
    });
  }

  async removeJob(jobId: string, incarnation: string): Promise<boolean> {
    return await this.#books.untilDone(async () => {
      const { table, clock } = this.#books;
      const job = await this.#books.readJob(jobId);
      if (job?.inc !== incarnation || job.record.removing !== true) return false;
      const { inc, record } = job;
      const garbage = { inc, jobId, total: record.counts.total };
      const answer = await table.transact([
        { remove: metaKey(jobId), when: sameEpoch(job) },
        { remove: hotKey(jobId) },
        ...directoryActions(inc, jobId, record, null),
        { put: garbageRow(garbage, clock.now()) },
      ]);
      if (answer.kind === 'refused') return undefined;
      await this.#purge.begin(garbage);
      return true;
    });
  }
}

/** Events that are decided by what is in flight: nothing of it may have changed since. */
const DECIDED_BY_COUNTS: readonly JobEvent['kind'][] = ['finish', 'complete', 'remove'];

/**
 * A cancelled job is shut: from then on nothing is dispatched, and what is in flight ends one by one. The state of its
 * other items follows from that, and is not written: see `job-rows.ts`.
 */
function changeActions(before: JobRows, next: JobRecord, event: JobEvent): Action[] {
  const { inc, epoch, changes } = before;
  const set: HotSet =
    event.kind === 'cancel' ? { shut: true } : { ...hotSetOf(before, next), ...usageSet(before, event) };
  const counted = DECIDED_BY_COUNTS.includes(event.kind) ? { changes } : {};
  const guard = { inc, epoch, ...counted, ...sameWait(set, before.record) };
  return [
    { put: metaRow({ ...before, record: next, epoch: epoch + 1 }), when: sameEpoch(before) },
    hotAction(next.jobId, {}, { ...set, numbers: { ...set.numbers, epoch: epoch + 1 } }, guard),
    ...directoryActions(inc, next.jobId, before.record, next),
  ];
}

/** Added, not set: settles add to it at the same time. */
function usageSet({ record }: JobRows, event: JobEvent): Pick<HotSet, 'usage'> {
  return event.kind === 'control' ? { usage: fitUsage(record.usage, event.report.usage) } : {};
}

export function sameEpoch({ inc, epoch }: JobRows) {
  return {
    expression: '#inc = :ifInc AND #epoch = :ifEpoch',
    values: { ':ifInc': { S: inc }, ':ifEpoch': num(epoch) },
  };
}
