import type { BulkFields } from '../../../contract/bulk-request.ts';
import type { FieldError } from '../../../contract/problem.ts';
import { jobPrefix } from '../../../domain/artifact.ts';
import { isAssetUrl } from '../../../domain/asset-url.ts';
import { MAX_BATCH_ITEMS } from '../../../domain/batching.ts';
import { type BulkList, MAX_BULK_SITES, pagesToScrape } from '../../../domain/bulk-list.ts';
import type { SeenAsset } from '../../../domain/cached-page.ts';
import { canonicalJson } from '../../../domain/canonical-json.ts';
import type { JobRecord, NewJob } from '../../../domain/job.ts';
import type { Lane } from '../../../domain/lane.ts';
import { indexSites, resolveOrAdopt, resolveSite } from '../../../domain/resolve-site.ts';
import type { Site } from '../../../domain/site.ts';
import { calculateBatches } from '../../../domain/site-batches.ts';
import { laneForSites } from '../../../domain/site-lane.ts';
import type { Faults } from '../../../ports/faults.ts';
import type { JobBook } from '../../../ports/ledger.ts';
import type { WorkerPageCache } from '../../../ports/page-cache.ts';
import type { Draft, ResultStore } from '../../../ports/result-store.ts';
import type { SiteBook } from '../../../ports/site-book.ts';
import { createInChunks } from '../create-in-chunks.ts';
import { type ExistingJob, findScraper, idFromKey, meetExisting, policyProblems, type SubmitDeps } from '../submit.ts';
import { bulkItems, type ListedPage } from './bulk-items.ts';
import { bulkPolicy } from './bulk-policy.ts';
import type { UrlSpool } from './url-spool.ts';

/** The scraper that pulls pages of documentation. */
export const SITE_PAGE = 'site-page';

export interface BulkDeps extends Omit<SubmitDeps, 'ledger'> {
  readonly ledger: Pick<JobBook, 'createJob' | 'draftJob' | 'job'>;
  readonly store: Pick<ResultStore, 'draft' | 'put' | 'removeAll'>;
  readonly sites: Pick<SiteBook, 'list'>;
  readonly pageCache: Pick<WorkerPageCache, 'record'>;
  /** Lanes that have workers; null if that is unknown. */
  readonly servedLanes: () => ReadonlySet<Lane> | null;
  readonly faults: Faults;
}

export interface BulkWish {
  readonly fields: BulkFields;
  /** As they were sent. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string | null;
}

export type BulkAnswer =
  | { readonly kind: 'no-urls' }
  | { readonly kind: 'bad'; readonly problems: readonly FieldError[] }
  | { readonly kind: 'created' | ExistingJob['kind']; readonly job: JobRecord };

/**
 * Creates the job of a list: sorts its URLs, records the links of assets, and divides the pages of each site into
 * batches.
 */
export async function submitBulk(deps: BulkDeps, spool: UrlSpool, wish: BulkWish): Promise<BulkAnswer> {
  const { fields, given, idempotencyKey: key } = wish;
  if (spool.count === 0) return { kind: 'no-urls' };
  const submission = deps.digest(canonicalJson({ ...given, urls: spool.fingerprint }));
  const jobId = fields.job_id ?? idFromKey(deps, key);
  const present = await deps.ledger.job(jobId);
  if (present !== null) return meetExisting(present, submission, key);
  const found = await findScraper(deps, SITE_PAGE);
  if (!('scraper' in found)) return { kind: 'bad', problems: [{ path: '', message: found.problem }] };
  const dear = policyProblems(deps, fields);
  if (dear.length > 0) return { kind: 'bad', problems: dear };

  const index = indexSites(await deps.sites.list());
  const resolve = fields.unknown === 'auto' ? resolveOrAdopt : resolveSite;
  const resolved = (url: string) => resolve(url, index);
  const sorter = new ListSorter(deps, jobId);
  try {
    for await (const urls of spool.read()) {
      for (const url of urls) await sorter.take(url, resolved(url));
      await deps.clock.turn();
      if (sorter.sites.size > MAX_BULK_SITES) return tooManySites();
    }
    const list = await sorter.finish(spool.count, fields.max_containers);
    const job: NewJob = {
      jobId,
      name: fields.job_name ?? null,
      scraperId: found.scraper.id,
      scraperVersion: found.scraper.version,
      lane: laneForSites(sorter.sites.values(), deps.servedLanes()),
      policy: bulkPolicy(fields, given['execution_policy'], list.sites),
      labels: fields.labels,
      held: fields.hold,
      batching: { by: 'group', maxItems: MAX_BATCH_ITEMS },
      ...(Object.keys(deps.prices).length === 0 ? {} : { prices: deps.prices }),
      submission,
      bulk: list,
    };
    const pageOf = (url: string): ListedPage | null => {
      const at = resolved(url);
      return at === null || isAssetUrl(url) ? null : { site: at.site.id, path: at.path, url: at.url };
    };
    const settings = { max_age: fields.max_age, delay_ms: fields.delay_ms };
    const items = bulkItems(spool, list.sites, { pageOf, settings, digest: deps.digest });
    const answer = await createInChunks(deps, job, pagesToScrape(list), items);
    if (answer.kind === 'created') {
      sorter.keep();
      return answer;
    }
    if (answer.kind === 'exists') return meetExisting(answer.job, submission, key);
    throw new Error(`two pages of job ${jobId} have the same id`);
  } finally {
    await sorter.close();
  }
}

function tooManySites(): BulkAnswer {
  const message = `name pages of more than ${MAX_BULK_SITES} sites: split the list`;
  return { kind: 'bad', problems: [{ path: 'urls', message }] };
}

const ASSETS_AT_ONCE = 500;

/** Goes through a list once: counts pages by site, records assets in the cache, and lists what is not pulled. */
class ListSorter {
  readonly #deps: BulkDeps;
  readonly #folder: string;
  readonly #counts = new Map<string, number>();
  /** Sites that have pages, in the order of the list. */
  readonly sites = new Map<string, Site>();
  #assets: SeenAsset[] = [];
  #assetCount = 0;
  #unknown = 0;
  #links: Draft | null = null;
  #isPut = false;
  #isKept = false;

  constructor(deps: BulkDeps, jobId: string) {
    this.#deps = deps;
    this.#folder = `${jobPrefix(jobId, deps.digest)}links/${deps.digest(deps.clock.id()).slice(0, 16)}/`;
  }

  async take(url: string, at: ReturnType<typeof resolveSite>): Promise<void> {
    if (at === null) {
      this.#unknown += 1;
      await this.#list({ type: 'unknown', url });
    } else if (isAssetUrl(url)) {
      this.#assetCount += 1;
      const { id: site } = at.site;
      this.#assets.push({
        ...{ kind: 'asset', url: at.url },
        key: { site, path: at.path, method: 'asset' },
        at: this.#now,
      });
      if (this.#assets.length >= ASSETS_AT_ONCE) await this.#keepAssets();
      await this.#list({ type: 'asset', url: at.url, site, path: at.path });
    } else {
      this.sites.set(at.site.id, at.site);
      this.#counts.set(at.site.id, (this.#counts.get(at.site.id) ?? 0) + 1);
    }
  }

  async finish(totalUrls: number, maxContainers: number): Promise<BulkList> {
    await this.#keepAssets();
    const pages = Array.from(this.#counts, ([site, count]) => ({ site, pages: count }));
    const links = await this.#putLinks();
    const sites = calculateBatches(pages, maxContainers);
    return { totalUrls, assets: this.#assetCount, unknown: this.#unknown, sites, links };
  }

  /** The job that refers to the links was created. */
  keep(): void {
    this.#isKept = true;
  }

  async close(): Promise<void> {
    await this.#links?.discard();
    if (this.#isPut && !this.#isKept) await this.#deps.store.removeAll(this.#folder);
  }

  get #now(): number {
    return this.#deps.clock.now();
  }

  async #keepAssets(): Promise<void> {
    const assets = this.#assets;
    this.#assets = [];
    if (assets.length > 0) await this.#deps.pageCache.record(assets);
  }

  async #list(link: object): Promise<void> {
    this.#links ??= this.#deps.store.draft();
    await this.#links.write(Buffer.from(`${JSON.stringify(link)}\n`));
  }

  async #putLinks(): Promise<string | null> {
    if (this.#links === null) return null;
    const key = `${this.#folder}links.jsonl`;
    const how = { contentType: 'application/x-ndjson', encoding: 'identity', ifTaken: 'keep' } as const;
    await this.#deps.store.put(key, this.#links, how);
    this.#isPut = true;
    this.#links = null;
    return key;
  }
}
