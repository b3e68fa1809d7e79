import type { IndexFields } from '../../../contract/site-requests.ts';
import { canonicalJson } from '../../../domain/canonical-json.ts';
import type { NewItem } from '../../../domain/item.ts';
import type { NewJob } from '../../../domain/job.ts';
import { pageUrl } from '../../../domain/resolve-site.ts';
import type { Site } from '../../../domain/site.ts';
import { laneForSites } from '../../../domain/site-lane.ts';
import { pageItemId, startPages } from '../../../domain/site-links.ts';
import type { JobBook } from '../../../ports/ledger.ts';
import { docsPolicy, isGiven } from '../bulk/bulk-policy.ts';
import { type BulkAnswer, type BulkDeps, SITE_PAGE } from '../bulk/submit-bulk.ts';
import { findScraper, idFromKey, meetExisting, policyProblems } from '../submit.ts';

export type IndexDeps = Pick<BulkDeps, 'catalog' | 'clock' | 'digest' | 'prices' | 'servedLanes'> & {
  readonly ledger: Pick<JobBook, 'createJob' | 'job'>;
};

export interface IndexWish {
  readonly fields: IndexFields;
  /** As they were sent. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string | null;
}

/** Pages that one worker pulls in sequence, with the delay between them. More would make a site with few links slow. */
const PAGES_PER_BATCH = 10;

/** A sitemap is found by robots.txt, may be an index, and long ones are several items: that is four steps to a page. */
const LEAST_DEPTH = 6;

/**
 * Creates the job that pulls a whole site. It begins with the start pages, the sitemaps and the llms.txt of the site; what
 * these lead to is found on the way.
 */
export async function indexSite(
  deps: IndexDeps,
  site: Site,
  { fields, given, idempotencyKey: key }: IndexWish,
): Promise<Exclude<BulkAnswer, { kind: 'no-urls' }>> {
  const submission = deps.digest(canonicalJson({ ...given, site_id: site.id }));
  const jobId = fields.job_id ?? idFromKey(deps, key);
  const present = await deps.ledger.job(jobId);
  if (present !== null) return meetExisting(present, submission, key);
  const found = await findScraper(deps, SITE_PAGE);
  if (!('scraper' in found)) return { kind: 'bad', problems: [{ path: '', message: found.problem }] };
  const dear = policyProblems(deps, fields);
  if (dear.length > 0) return { kind: 'bad', problems: dear };
  const { id: scraperId, version: scraperVersion } = found.scraper;
  const job: NewJob = {
    ...{ jobId, name: fields.job_name ?? `Index of ${site.id}`, scraperId, scraperVersion },
    lane: laneForSites([site], deps.servedLanes()),
    policy: indexPolicy(fields, given['execution_policy'], site),
    labels: fields.labels,
    held: fields.hold,
    batching: { by: 'group', maxItems: PAGES_PER_BATCH },
    ...(Object.keys(deps.prices).length === 0 ? {} : { prices: deps.prices }),
    submission,
  };
  const answer = await deps.ledger.createJob(job, firstItems(deps, site, fields), deps.clock.now());
  if (answer.kind === 'exists') return meetExisting(answer.job, submission, key);
  if (answer.kind === 'duplicates') throw new Error(`two items of job ${jobId} have the same id`);
  return answer;
}

function indexPolicy(fields: IndexFields, given: unknown, { config }: Site) {
  const policy = docsPolicy(fields, given);
  if (isGiven(given, 'discovery', 'max_depth')) return policy;
  const max_depth = Math.max(LEAST_DEPTH, config.links.maxDepth);
  return { ...policy, discovery: { ...policy.discovery, max_depth } };
}

function firstItems({ digest }: IndexDeps, site: Site, { max_age, delay_ms }: IndexFields): readonly NewItem[] {
  const base = pageUrl(site, '');
  const common = { site: site.id, max_age, delay_ms };
  const pages = startPages(site).map(({ path, url }) => ({
    itemId: pageItemId(pageUrl(site, path), digest),
    input: { url, path, ...common, role: 'follow' },
  }));
  const robots = new URL('/robots.txt', base).href;
  const { sitemaps } = site.config.links;
  const maps = [...new Set(sitemaps)].map((url) => ({ url: new URL(url, `${base}/`).href, role: 'sitemap' }));
  const sources = [
    ...(maps.length === 0 ? [{ url: robots, role: 'robots' }] : maps),
    { url: `${base}/llms.txt`, role: 'llms' },
  ];
  const items = [
    ...pages,
    ...sources.map(({ url, role }) => ({ itemId: pageItemId(url, digest), input: { url, ...common, role } })),
  ];
  // A start page may be one of the sources.
  const first = new Map(items.toReversed().map((item) => [item.itemId, { ...item, group: site.id }]));
  return [...first.values()].reverse();
}
