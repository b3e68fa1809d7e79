import { Problem } from '../../contract/problem.ts';
import type { Digest, StoredArtifact } from '../../domain/artifact.ts';
import type { JobRecord } from '../../domain/job.ts';
import { type Lane, laneWarning } from '../../domain/lane.ts';
import type { Prices } from '../../domain/prices.ts';
import { type ProxyType, proxyLadder, proxyWarnings } from '../../domain/proxy-policy.ts';
import type { Site } from '../../domain/site.ts';
import type { StoredSite } from '../../domain/stored-site.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { HostPauses } from '../../ports/host-pauses.ts';
import type { HostRecords } from '../../ports/host-records.ts';
import type { HostSettingsBook } from '../../ports/host-settings.ts';
import type { ItemWaits } from '../../ports/item-waits.ts';
import type { KeptRecordings } from '../../ports/kept-recordings.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { PageCache } from '../../ports/page-cache.ts';
import type { PathErrorBook } from '../../ports/path-errors.ts';
import type { RecordingBook } from '../../ports/recording-book.ts';
import type { ResultLinks, ResultStore } from '../../ports/result-store.ts';
import type { RunBook } from '../../ports/run-book.ts';
import type { RunService } from '../../ports/run-service.ts';
import type { SiteBook } from '../../ports/site-book.ts';
import type { SiteInspector } from '../../ports/site-inspector.ts';
import type { StepRecords } from '../../ports/step-records.ts';
import type { WorkQueue } from '../../ports/work-queue.ts';
import type { ChangeBook } from '../extraction/changes.ts';
import type { Comparisons } from '../extraction/comparisons.ts';
import type { JobFeeds } from '../feed/job-feeds.ts';
import type { RateBook } from '../feed/rate-book.ts';
import type { RunFeeds } from '../feed/run-feeds.ts';
import type { ScraperCatalog } from '../intake/scraper-catalog.ts';
import type { ServerLog } from './server.ts';

/** What the operations of the API need. */
export interface ApiDeps {
  readonly ledger: Ledger;
  readonly store: ResultStore;
  /** Null if the store cannot serve bytes itself. */
  readonly links: ResultLinks | null;
  /** Where a reader finds an artifact without the API: a path below the results folder, or a key in the bucket. */
  readonly pathOf: (artifact: StoredArtifact) => string;
  readonly queue: Pick<WorkQueue, 'depth'>;
  readonly hostPauses: HostPauses;
  readonly hostSettings: HostSettingsBook;
  readonly hostRecords: Pick<HostRecords, 'ofJob'>;
  readonly stepRecords: Pick<StepRecords, 'ofJob'>;
  readonly itemWaits: Pick<ItemWaits, 'ofJob'>;
  readonly sites: SiteBook;
  /** Sites of the file that this process was started with, by id. */
  readonly fileSites: ReadonlyMap<string, Site>;
  readonly pageCache: PageCache;
  readonly pathErrors: PathErrorBook;
  readonly siteInspector: SiteInspector;
  readonly runs: RunBook;
  /** Carries out scrape runs; or what must be set before it can. */
  readonly runService: { readonly service: RunService } | { readonly problem: string };
  /** Where the browsers of workers come from. */
  readonly browserProvider: string;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly digest: Digest;
  readonly catalog: ScraperCatalog;
  readonly recordings: KeptRecordings;
  readonly recordingBook: RecordingBook;
  /** For jobs that do not name a scraper. */
  readonly defaultScraper: string;
  /** Prices of proxies. */
  readonly prices: Prices;
  /** Lanes that have workers; null if that is unknown. */
  readonly servedLanes: () => ReadonlySet<Lane> | null;
  /** The settings that a kind of proxy lacks here; null if it lacks none, or if workers have their own settings. */
  readonly proxyProblem: (type: ProxyType) => string | null;
  readonly feeds: JobFeeds;
  readonly runFeeds: RunFeeds;
  readonly rates: RateBook;
  readonly changes: ChangeBook;
  readonly comparisons: Comparisons;
  readonly version: string;
  /** Limit of the body of a new job, and of an uncompressed upload. */
  readonly maxBodyBytes: number;
  readonly log: Pick<ServerLog, 'info' | 'warn'>;
  /** Everything the service needs in order to work. */
  readonly checks: () => Promise<readonly ReadyCheck[]>;
}

export interface ReadyCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string | null;
}

/** Warnings for the answer to a request that created a job. */
export function laneWarnings({ servedLanes }: Pick<ApiDeps, 'servedLanes'>, { lane }: JobRecord) {
  const message = laneWarning(lane, servedLanes());
  return message === null ? [] : [{ path: 'scraper_id', code: 'no_workers' as const, message }];
}

/** Warnings for a job that still has work to do: its items do not run the code that its author last saved. */
export async function scraperWarnings(
  { catalog }: Pick<ApiDeps, 'catalog'>,
  { scraperId, recording, status }: JobRecord,
) {
  const problem = OVER.includes(status) || recording !== undefined ? null : await catalog.problemOf(scraperId);
  if (problem === null) return [];
  const message = `the edited scraper is not used, and the previously loaded one keeps running: ${problem}`;
  return [{ path: 'scraper_id', code: 'edited_scraper_unusable' as const, message }];
}

/** Warnings for a job that still has work to do: what its policy asks for but its proxies cannot do. */
export function proxyWarningsOf({ proxyProblem }: Pick<ApiDeps, 'proxyProblem'>, { policy, status }: JobRecord) {
  if (OVER.includes(status)) return [];
  const ignored = proxyWarnings(policy.proxy).map(({ path, message }) => {
    return { path: `execution_policy.${path}`, code: 'setting_ignored' as const, message };
  });
  const unusable = proxyLadder(policy.proxy).flatMap((type) => {
    const message = proxyProblem(type);
    const path = `execution_policy.proxy.${type === policy.proxy.type ? 'type' : 'escalate'}`;
    return message === null ? [] : [{ path, code: 'proxy_not_configured' as const, message }];
  });
  return [...ignored, ...unusable];
}

const OVER: readonly JobRecord['status'][] = ['completed', 'failed', 'cancelled'];

/** The job; throws a problem if there is none. */
export async function jobOf({ ledger }: Pick<ApiDeps, 'ledger'>, jobId: string): Promise<JobRecord> {
  return (await ledger.job(jobId)) ?? noJob(jobId);
}

/** The requested id belongs to a job whose results are still being deleted. */
export function stillBeingRemoved(jobId: string): never {
  throw new Problem(
    'job_being_removed',
    `An earlier job ${jobId} and its results are still being deleted. ` +
      `Try again once GET /jobs/${encodeURIComponent(jobId)} answers 404.`,
  );
}

/** A request to create a job whose id or key belongs to a job that exists. */
export function refuseExisting(kind: 'exists' | 'being-removed' | 'key-reused', { jobId }: JobRecord): never {
  switch (kind) {
    case 'exists':
      throw new Problem('job_exists', `Job ${jobId} already exists. It was left unchanged.`);
    case 'being-removed':
      return stillBeingRemoved(jobId);
    case 'key-reused':
      throw new Problem(
        'idempotency_key_reused',
        `A different request created job ${jobId} with this key. Use a new key for a new request.`,
      );
  }
}

/** The site; throws the problem if there is none. */
export async function siteOf({ sites }: Pick<ApiDeps, 'sites'>, id: string): Promise<StoredSite> {
  const site = await sites.get(id);
  if (site === null) throw new Problem('site_not_found', `There is no site ${id}.`);
  return site;
}

export function noJob(jobId: string): never {
  throw new Problem('job_not_found', `Job not found: ${jobId}`);
}
