import type { z } from 'zod';
import type { extractBody } from '../../contract/requests.ts';
import type { Digest } from '../../domain/artifact.ts';
import { errorMessage } from '../../domain/error-message.ts';
import type { ItemRecord, NewItem } from '../../domain/item.ts';
import type { JobRecord, NewJob } from '../../domain/job.ts';
import type { FieldProblem } from '../../domain/schema-problems.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Faults } from '../../ports/faults.ts';
import type { ItemBook, JobBook } from '../../ports/ledger.ts';
import { type CatalogScraper, describeUnknownScraper, type ScraperCatalog } from '../intake/scraper-catalog.ts';
import { endedItems } from './ended-items.ts';

export type ExtractRequest = z.output<typeof extractBody>;

export interface ExtractionDeps {
  readonly ledger: JobBook & ItemBook;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly digest: Digest;
  readonly catalog: Pick<ScraperCatalog, 'find' | 'list' | 'ofJob'>;
}

export type ExtractionAnswer =
  /** There is no job to extract from. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'bad'; readonly problems: readonly FieldProblem[] }
  /** The requested id belongs to a job that this request did not create. */
  | { readonly kind: 'exists'; readonly job: JobRecord }
  /** An earlier job with that id is being deleted, and its results are not gone yet. */
  | { readonly kind: 'being-removed'; readonly job: JobRecord }
  /** There is nothing to read, or not yet; nothing was created. */
  | { readonly kind: 'nothing'; readonly message: string }
  /** `isNew` is true for one call only, however often the request is repeated: the one that started the job. */
  | { readonly kind: 'begun'; readonly job: JobRecord; readonly withoutPage: number; readonly isNew: boolean };

/**
 * Creates a job that reads the stored pages of an older one, including those of failed items. It is held until all its
 * items are there, which is also how a repeated call recognises unfinished work: it goes over the items again and skips
 * those that exist. Whatever the number of items, only a chunk of them is in memory.
 */
export async function beginExtraction(
  deps: ExtractionDeps,
  sourceJobId: string,
  request: ExtractRequest,
): Promise<ExtractionAnswer> {
  const { ledger, clock } = deps;
  const source = await ledger.job(sourceJobId);
  if (source === null) return { kind: 'missing' };
  const found = await findScraper(deps, source, request.scraper_id);
  if ('problem' in found) return { kind: 'bad', problems: [{ path: 'scraper_id', message: found.problem }] };

  const wanted = extractionOf(deps, source, found.scraper, request);
  const present = await ledger.job(wanted.jobId);
  if (present?.removing) return { kind: 'being-removed', job: present };
  if (present !== null && present.submission !== wanted.submission) return { kind: 'exists', job: present };
  if (present !== null && !present.held) {
    return { kind: 'begun', job: present, withoutPage: leftOut(source, present), isNew: false };
  }
  if (source.status === 'pending' || source.status === 'in_progress') {
    return {
      kind: 'nothing',
      message: `the job ${source.jobId} is still running: its pages can be read once it is over`,
    };
  }

  const seeded = await seed(deps, wanted, source, present);
  if (seeded.kind !== 'seeded') return seeded;
  // Read after the job was created: a deletion of the older job looks for its readers after marking it.
  const sourceNow = await ledger.job(source.jobId);
  if (sourceNow?.incarnation !== source.incarnation || sourceNow.removing) {
    await withdraw(deps, wanted);
    return { kind: 'missing' };
  }
  // Refused if another caller made the same request first.
  const started = await ledger.changeJob(wanted.jobId, { kind: 'start' }, clock.now());
  const job = await ledger.job(wanted.jobId);
  if (job === null)
    return { kind: 'nothing', message: `the job ${wanted.jobId} was deleted while it was being created` };
  const isNew = started !== 'missing' && !('refused' in started);
  return { kind: 'begun', job, withoutPage: seeded.withoutPage, isNew };
}

/** The job was never started and so has no results: there is nothing to wait for. */
async function withdraw({ ledger, clock }: ExtractionDeps, { jobId, submission }: NewJob): Promise<void> {
  const made = await ledger.job(jobId);
  if (made === null || made.submission !== submission) return;
  const { incarnation } = made;
  for (const kind of ['remove', 'remove-for-good'] as const) {
    await ledger.changeJob(jobId, { kind, incarnation }, clock.now());
  }
  await ledger.removeJob(jobId, incarnation);
}

async function seed(
  { ledger, clock, faults }: ExtractionDeps,
  wanted: NewJob,
  source: JobRecord,
  present: JobRecord | null,
): Promise<ExtractionAnswer | { readonly kind: 'seeded'; readonly withoutPage: number }> {
  let isMade = present !== null;
  let withoutPage = 0;
  for await (const chunk of endedItems(ledger, source.jobId)) {
    const items = chunk.flatMap(extractable);
    withoutPage += chunk.length - items.length;
    if (items.length === 0) continue;
    const made = isMade ? null : await ledger.createJob(wanted, items, clock.now());
    if (made?.kind === 'duplicates') throw new Error(`job ${source.jobId} has an item twice`);
    if (made?.kind === 'exists' && made.job.submission !== wanted.submission) return made;
    isMade = true;
    if (made?.kind !== 'created') {
      const added = await ledger.addItems(wanted.jobId, items, clock.now(), clock.now());
      if (added.kind !== 'added') {
        return {
          kind: 'nothing',
          message: `the job ${wanted.jobId} was cancelled or deleted while it was being created`,
        };
      }
    }
    await faults.at('between-import-chunks');
  }
  return isMade ? { kind: 'seeded', withoutPage } : { kind: 'nothing', message: nothingKept(source) };
}

/** The item, or none if no page of it was kept. */
function extractable({ itemId, input, artifacts }: ItemRecord): NewItem[] {
  const pages = artifacts.filter(({ kind }) => kind === 'page');
  const metadata = artifacts.find(({ kind }) => kind === 'metadata') ?? null;
  const html = artifacts.find(({ kind }) => kind === 'html') ?? pages[0];
  if (html === undefined) return [];
  return [{ itemId, input, source: { html, metadata, ...(pages.length === 0 ? {} : { pages }) } }];
}

function extractionOf(
  { clock, digest }: ExtractionDeps,
  source: JobRecord,
  { id, version, lane }: CatalogScraper,
  request: ExtractRequest,
): NewJob {
  const workers = request.max_concurrent_workers;
  const name = request.job_name ?? null;
  const labels = Object.entries(request.labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    jobId: request.job_id ?? clock.id(),
    name,
    scraperId: id,
    scraperVersion: version,
    lane,
    // No site is contacted, so no limits are needed.
    policy: {
      ...source.policy,
      throttling: {
        max_concurrent_workers: workers,
        min_delay_between_items_seconds: 0,
        max_requests_per_second: null,
        weight: 1,
        adaptive: false,
      },
    },
    labels: request.labels,
    held: true,
    extracts: source.jobId,
    sourceCreatedAt: source.createdAt,
    // Includes the version: the rest of a job must not be read by another parse than its beginning.
    submission: digest(JSON.stringify(['extract', source.jobId, source.createdAt, id, version, workers, name, labels])),
  };
}

async function findScraper(
  { catalog }: ExtractionDeps,
  source: JobRecord,
  asked: string | undefined,
): Promise<{ readonly problem: string } | { readonly scraper: CatalogScraper }> {
  const id = asked ?? source.scraperId;
  try {
    const scraper = asked === undefined ? await catalog.ofJob(source) : await catalog.find(asked);
    if (scraper === null) return { problem: await describeUnknownScraper(catalog, id) };
    if (scraper.canExtract) return { scraper };
    if (scraper.kind === 'recording') {
      return {
        problem: `${id} is a recording, which cannot parse stored pages: name a scraper that has a parse function`,
      };
    }
    return { problem: `${id} cannot parse stored pages: it has no parse function` };
  } catch (error) {
    return { problem: errorMessage(error) };
  }
}

/** The number for a call that found its job complete and did not go over the items again. */
function leftOut(source: JobRecord, extraction: JobRecord): number {
  return Math.max(0, source.counts.success + source.counts.failed - extraction.counts.total);
}

function nothingKept({ jobId, extracts, counts }: JobRecord): string {
  if (extracts !== undefined)
    return `the job ${jobId} keeps no pages, because it is a re-extraction: extract ${extracts}`;
  const ended = counts.success + counts.failed;
  if (ended === 0) return `no item of the job ${jobId} has succeeded or failed, so there are no pages to read`;
  return `none of the ${ended} finished items of ${jobId} has a stored page (results.keep_html)`;
}
