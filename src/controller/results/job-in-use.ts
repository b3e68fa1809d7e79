import type { JobRecord } from '../../domain/job.ts';
import { walkPages } from '../../domain/walk-pages.ts';
import type { JobBook, Page, PageRequest } from '../../ports/ledger.ts';
import { readsFrom } from './reads-from.ts';

/** Why a job must not be deleted, as a message for its user: another job needs it. Null if none does. */
export async function whyInUse(
  ledger: Pick<JobBook, 'job' | 'jobs' | 'activeJobs'>,
  job: JobRecord,
): Promise<string | null> {
  return (await whyItsDataAreInUse(job, ledger)) ?? (await readBy(ledger, job.jobId));
}

/** A re-extraction that is under way, or can be resumed, needs the pages. */
async function readBy(ledger: Pick<JobBook, 'jobs' | 'activeJobs'>, jobId: string): Promise<string | null> {
  const active = (page: PageRequest) => ledger.activeJobs(page);
  const paused = (page: PageRequest) => ledger.jobs({ status: 'paused', page });
  const reader = (await extractionIn(active, jobId)) ?? (await extractionIn(paused, jobId));
  return reader === null ? null : `the job ${reader} reads its pages: wait for it, or cancel it`;
}

async function extractionIn(
  pageOf: (page: PageRequest) => Promise<Page<JobRecord>>,
  source: string,
): Promise<string | null> {
  for await (const page of walkPages((after) => pageOf({ after, limit: 100 }))) {
    const reader = page.entries.find(({ extracts, removing }) => extracts === source && removing !== true);
    if (reader !== undefined) return reader.jobId;
  }
  return null;
}

/** A re-extraction whose data replace those of the job that it read. */
async function whyItsDataAreInUse(
  job: Pick<JobRecord, 'jobId' | 'extracts' | 'sourceCreatedAt'>,
  ledger: Pick<JobBook, 'job'>,
): Promise<string | null> {
  const source = job.extracts === undefined ? null : await ledger.job(job.extracts);
  if (source === null || !readsFrom(job, source)) return null;
  if (source.recoveredFrom?.includes(job.jobId)) {
    return `recovered items of the job ${source.jobId} have their data in it: delete that job first`;
  }
  if (source.replacedBy !== job.jobId) return null;
  return `its data replace those of the job ${source.jobId}: delete that job first, or replace its results again`;
}
