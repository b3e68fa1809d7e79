import { setTimeout } from 'node:timers/promises';
import { finishedOf, inFlightOf, pendingOf } from '../../src/domain/counts.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import type { Notes } from './notes.ts';
import { itemsOf } from './recount.ts';

/** How many have ended, each in its way. */
export interface Ends {
  readonly success: number;
  readonly failed: number;
}

export interface Watched {
  readonly job: JobRecord;
  /** Times that the counters were read, and times that all items were read and counted between two of those. */
  readonly reads: number;
  readonly recounts: number;
  readonly problems: readonly string[];
}

export interface WatchOptions {
  readonly ledger: Ledger;
  readonly jobId: string;
  readonly items: number;
  /** What scrapers have finished: no counter can be ahead of it. */
  readonly notes: Notes;
  /** Items that workers know to be recorded: no counter can be lower. */
  readonly recorded: { readonly success: ReadonlySet<string>; readonly failed: ReadonlySet<string> };
}

/**
 * Reads again and again until the job has its manifest. What ended never becomes less and is between what was recorded
 * before the read and what was scraped after it. From time to time all items are read between two reads: what has ended
 * stays so, hence they are no fewer than the first read says, and no more than the second.
 */
export async function watchCounters(options: WatchOptions): Promise<Watched> {
  const { ledger, jobId, items, notes, recorded } = options;
  const problems: string[] = [];
  let reads = 0;
  let recounts = 0;
  let before: Ends = { success: 0, failed: 0 };

  async function look(): Promise<JobRecord> {
    const least = sizesOf(recorded);
    const job = await ledger.job(jobId);
    if (job === null) throw new Error('the job is gone');
    reads += 1;
    const { counts } = job;
    const most = sizesOf(notes.ended);
    const all = [pendingOf(counts), ...Object.values(counts)];
    if (all.some((count) => count < 0)) problems.push(`below zero: ${JSON.stringify(counts)}`);
    if (counts.total > items) problems.push(`more items than there are: ${counts.total}`);
    if (inFlightOf(counts) > job.policy.throttling.max_concurrent_workers)
      problems.push(`too many in flight: ${JSON.stringify(counts)}`);
    problems.push(
      ...outOfOrder('fewer than before', before, counts),
      ...outOfOrder('fewer than were recorded', least, counts),
      ...outOfOrder('more than were scraped', counts, most),
    );
    if (finishedOf(counts) !== counts.success + counts.failed) problems.push(`nobody did: ${JSON.stringify(counts)}`);
    before = counts;
    return job;
  }

  for (;;) {
    const job = await look();
    if (job.manifest !== null && job.counts.total === items) return { job, reads, recounts, problems };
    if (finishedOf(job.counts) < (recounts * items) / RECOUNTS) {
      // The workers need the processor.
      await setTimeout(READ_EVERY_MS);
      continue;
    }
    recounts += 1;
    const counted = await countEnds(ledger, jobId);
    const { counts: later } = await look();
    problems.push(
      ...outOfOrder('more in the counters than items', job.counts, counted),
      ...outOfOrder('more items than in the counters', counted, later),
    );
  }
}

const READ_EVERY_MS = 50;
/** Evenly over the job. Each reads all items. */
const RECOUNTS = 20;

function* outOfOrder(what: string, less: Ends, more: Ends): Generator<string> {
  for (const status of ['success', 'failed'] as const) {
    if (less[status] > more[status]) yield `${status}, ${what}: ${less[status]} and ${more[status]}`;
  }
}

function sizesOf({ success, failed }: WatchOptions['recorded']): Ends {
  return { success: success.size, failed: failed.size };
}

async function countEnds(ledger: Ledger, jobId: string): Promise<Ends> {
  const ends = { success: 0, failed: 0 };
  for await (const { status } of itemsOf(ledger, jobId)) {
    if (status === 'success' || status === 'failed') ends[status] += 1;
  }
  return ends;
}
