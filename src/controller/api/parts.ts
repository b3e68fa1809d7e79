import { Problem } from '../../contract/problem.ts';
import type { Digest } from '../../domain/artifact.ts';
import type { JobRecord } from '../../domain/job.ts';
import { type Lane, laneWarning } from '../../domain/lane.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { HostPauses } from '../../ports/host-pauses.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { ResultLinks, ResultStore } from '../../ports/result-store.ts';
import type { WorkQueue } from '../../ports/work-queue.ts';
import type { ChangeBook } from '../extraction/changes.ts';
import type { JobFeeds } from '../feed/job-feeds.ts';
import type { RateBook } from '../feed/rate-book.ts';
import type { ScraperCatalog } from '../intake/scraper-catalog.ts';
import type { Metrics } from '../metrics/open-metrics.ts';
import type { ServerLog } from './server.ts';

/** What the operations of the API stand on. */
export interface ApiParts {
  readonly ledger: Ledger;
  readonly store: ResultStore;
  /** Null where the bytes have no address but ours. */
  readonly links: ResultLinks | null;
  readonly queue: Pick<WorkQueue, 'depth'>;
  readonly hostPauses: HostPauses;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly digest: Digest;
  readonly catalog: ScraperCatalog;
  /** Runs jobs that name no scraper. */
  readonly defaultScraper: string;
  /** Lanes that have workers; null where that is not known. */
  readonly servedLanes: () => ReadonlySet<Lane> | null;
  readonly feeds: JobFeeds;
  readonly rates: RateBook;
  readonly metrics: Metrics;
  readonly changes: ChangeBook;
  readonly version: string;
  /** The most that the body of a new job, or what a packed upload is unpacked to, may have. */
  readonly maxBodyBytes: number;
  readonly log: Pick<ServerLog, 'info'>;
  /** What must be well for the service to do its work. */
  readonly checks: () => Promise<readonly ReadyCheck[]>;
}

export interface ReadyCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string | null;
}

/** For the answer to a request that made a job. */
export function laneWarnings({ servedLanes }: Pick<ApiParts, 'servedLanes'>, { lane }: JobRecord) {
  const message = laneWarning(lane, servedLanes());
  return message === null ? [] : [{ path: 'scraper_id', message }];
}

/** The job, or the problem that there is none. */
export async function jobOf({ ledger }: Pick<ApiParts, 'ledger'>, jobId: string): Promise<JobRecord> {
  return (await ledger.job(jobId)) ?? noJob(jobId);
}

/** The id of a new job is that of one whose results are not gone yet. */
export function stillBeingRemoved(jobId: string): never {
  throw new Problem(
    'job_being_removed',
    `The earlier job ${jobId} and its results are still being removed. ` +
      `Try again when GET /jobs/${encodeURIComponent(jobId)} answers 404.`,
  );
}

export function noJob(jobId: string): never {
  throw new Problem('job_not_found', `There is no job ${jobId}.`);
}
