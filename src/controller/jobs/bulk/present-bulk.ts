import type {
  BulkCreatedAnswer,
  BulkInputAnswer,
  BulkJobAnswer,
  NothingToScrapeAnswer,
} from '../../../contract/bulk-answers.ts';
import type { JobAnswer } from '../../../contract/job-answers.ts';
import type { WarningAnswer } from '../../../contract/problem-answer.ts';
import { type BulkList, batchCount, endedBatches, pagesToScrape } from '../../../domain/bulk-list.ts';
import { endedOf, finishedOf } from '../../../domain/counts.ts';
import type { ReadGroup } from '../../../domain/failure-group.ts';
import type { ItemRecord } from '../../../domain/item.ts';
import type { JobRecord } from '../../../domain/job.ts';
import type { ItemBook, Page } from '../../../ports/ledger.ts';

/** A job that was created by `POST /jobs/bulk`. */
export type BulkJob = JobRecord & { readonly bulk: BulkList };

export function isBulk(job: JobRecord): job is BulkJob {
  return job.bulk !== undefined;
}

const ERRORS_SHOWN = 10;
const LONGEST_ERROR = 200;

function presentBulkInput({ bulk }: Pick<BulkJob, 'bulk'>): BulkInputAnswer {
  return {
    total_urls: bulk.totalUrls,
    to_scrape: pagesToScrape(bulk),
    assets: bulk.assets,
    unknown: bulk.unknown,
    sites: bulk.sites.map(({ site }) => site),
  };
}

export function presentBulkCreated(
  job: BulkJob,
  warnings: readonly WarningAnswer[],
): BulkCreatedAnswer | NothingToScrapeAnswer {
  const input = presentBulkInput(job);
  if (input.to_scrape === 0) {
    return { job_id: job.jobId, status: 'completed', message: 'No scrapeable URLs', input };
  }
  const answer = { job_id: job.jobId, status: 'in_progress', batches: batchCount(job.bulk), input } as const;
  return warnings.length === 0 ? answer : { ...answer, warnings: [...warnings] };
}

/** `usual`: the fields that every job has. */
export function presentBulkJob(
  job: BulkJob,
  usual: JobAnswer,
  more: { readonly errors: BulkJobAnswer['errors']; readonly now: number },
): BulkJobAnswer {
  const { counts, createdAt, finishedAt } = job;
  const total = batchCount(job.bulk);
  const isOver = finishedOf(counts) === counts.total;
  return {
    ...usual,
    progress_pct: counts.total === 0 ? 100 : usual.progress_pct,
    elapsed_seconds: Math.round(Math.max(0, (finishedAt ?? more.now) - createdAt) / 100) / 10,
    input: presentBulkInput(job),
    progress: {
      completed: endedOf(counts),
      success: counts.success,
      skipped: counts.skipped,
      failed: counts.failed,
    },
    workers: { total, completed: isOver ? total : Math.min(total, endedBatches(job.bulk, job)) },
    errors: more.errors,
    failures: usual.errors,
  };
}

/** Fields for a list of jobs. */
export function presentBulkSummary({ bulk, counts }: BulkJob) {
  return {
    sites: bulk.sites.map(({ site }) => site),
    progress: `${finishedOf(counts)}/${Math.max(pagesToScrape(bulk), counts.total)}`,
  };
}

/**
 * Pages that failed. Only the beginning of a job is searched for them, so that this costs the same for any job; for
 * later failures, the examples of the most frequent groups are shown.
 */
export async function readBulkErrors(
  ledger: Pick<ItemBook, 'item' | 'items'>,
  { jobId, counts }: Pick<JobRecord, 'jobId' | 'counts'>,
  groups: readonly ReadGroup[],
): Promise<BulkJobAnswer['errors']> {
  const failed = new Map<string, ItemRecord | null>();
  const wanted = Math.min(ERRORS_SHOWN, counts.failed);
  let after: string | null = null;
  for (let pages = 0; pages < PAGES_SEARCHED && failed.size < wanted; pages += 1) {
    const page: Page<ItemRecord> = await ledger.items(jobId, FAILED, { after, limit: ERRORS_SHOWN });
    for (const item of page.entries) failed.set(item.itemId, item);
    after = page.next;
    if (after === null) break;
  }
  for (const { itemId } of groups.flatMap(({ examples }) => examples)) {
    if (failed.size < wanted && !failed.has(itemId)) failed.set(itemId, await ledger.item(jobId, itemId));
  }
  return Array.from(failed.values())
    .filter((item): item is ItemRecord => item?.status === 'failed')
    .slice(0, ERRORS_SHOWN)
    .map(presentError);
}

const PAGES_SEARCHED = 3;
const FAILED = { status: 'failed', errorType: null } as const;

function presentError({ itemId, input, attempts }: ItemRecord): BulkJobAnswer['errors'][number] {
  const { path } = input;
  const message = attempts.at(-1)?.failure?.message ?? '';
  return { path: typeof path === 'string' ? path : itemId, error: message.slice(0, LONGEST_ERROR) };
}
