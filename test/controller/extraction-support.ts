import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import { extractBody } from '../../src/contract/requests.ts';
import { beginExtraction, type ExtractionAnswer } from '../../src/controller/extraction/begin-extraction.ts';
import { replaceResults } from '../../src/controller/extraction/replace-results.ts';
import type { CatalogScraper } from '../../src/controller/intake/scraper-catalog.ts';
import { type ArtifactKind, artifactKey, type StoredArtifact } from '../../src/domain/artifact.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { NewJob } from '../../src/domain/job.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { type Faults, NO_FAULTS } from '../../src/ports/faults.ts';
import type { LeasedItem, Settlement, SettlePart } from '../../src/ports/ledger.ts';
import { dataDirOf, openIn } from '../adapters/embedded-support.ts';
import { complete, jobOf, takeOut } from '../contract/ledger/hands.ts';
import { newItems, newJob, settlement, storedArtifact } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

export const digest = (text: string) => hash('sha256', text);

/** What an attempt kept of an item: a value as JSON, or the text of a page. */
export type Kept = Partial<Record<ArtifactKind, unknown>>;

/** If set, what was kept belongs to a failed item. */
export interface Failing {
  readonly failure?: Failure;
}

/** A real ledger and real files, with the test doing the work of the workers. */
export async function openDesk(t: TestContext) {
  const dataDir = dataDirOf(t);
  const clock = new FakeClock();
  const { ledger } = openIn(t, dataDir, { clock });
  const store = await openFileResultStore(join(dataDir, 'results'), { clock });
  const scrapers = new Map<string, Partial<CatalogScraper>>([
    ['demo', { id: 'demo', version: '2.0.0', lane: 'http', canExtract: true }],
    ['plain', { id: 'plain', version: '1.0.0', lane: 'http', canExtract: false }],
  ]);
  const catalog = {
    async find(id: string): Promise<CatalogScraper | null> {
      if (id === 'broken') throw new Error('broken.ts cannot be loaded');
      return (scrapers.get(id) ?? null) as CatalogScraper | null;
    },
    ofJob: ({ scraperId }: { readonly scraperId: string }) => catalog.find(scraperId),
    list: async () => [],
  };
  const parts = { ledger, store, clock, digest, catalog, faults: NO_FAULTS };

  const keepAll = async (jobId: string, { itemId, attempt }: LeasedItem, done: Kept & Failing): Promise<Outcome> => {
    const { failure, ...kept } = done;
    const artifacts: StoredArtifact[] = [];
    for (const [kind, value] of Object.entries(kept) as [ArtifactKind, unknown][]) {
      const extension = kind === 'html' ? 'html' : 'json';
      const key = artifactKey({ jobId, itemId, attempt }, { kind, extension }, digest);
      const how = { contentType: 'application/json', encoding: 'identity', ifTaken: 'keep' } as const;
      const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
      artifacts.push({ kind, contentType: how.contentType, ...(await store.put(key, bytes, how)) });
    }
    return failure === undefined ? { kind: 'scraped', artifacts } : { kind: 'failed', failure, artifacts };
  };

  /**
   * Carries out everything that is pending in a job, with this version or an unknown one; `work` returns what is kept
   * of an item, or how it failed.
   */
  const carryOut = async (
    jobId: string,
    work: (item: LeasedItem) => (Kept & Failing) | Outcome,
    scraperVersion?: string,
  ): Promise<void> => {
    const version = scraperVersion === undefined ? {} : { scraperVersion };
    for (;;) {
      const leases = await takeOut(ledger, jobId, { perBatch: 100, now: clock.now() });
      if (leases.length === 0) break;
      const settled: SettlePart[] = [];
      for (const { token, items } of leases) {
        const ends: Settlement[] = [];
        for (const item of items) {
          const done = work(item);
          const outcome = 'kind' in done ? (done as Outcome) : await keepAll(jobId, item, done as Kept & Failing);
          ends.push({ ...settlement(item, outcome), ...version });
        }
        settled.push({ token, jobId, items: ends });
      }
      const answers = await ledger.settle(settled, clock.now());
      assert.ok(answers.every((answer) => answer === 'recorded'));
    }
    await complete(ledger, jobId, clock.now());
  };

  return {
    ...parts,
    scrapers,
    carryOut,
    /** A finished job of `p-0`, `p-1` … */
    async givenJob(
      count: number,
      work: (item: LeasedItem) => (Kept & Failing) | Outcome,
      job: Partial<Omit<NewJob, 'policy'>> = {},
    ) {
      const made = newJob({ jobId: 'old', ...job });
      assert.equal((await ledger.createJob(made, newItems(count), clock.now())).kind, 'created');
      if (count > 0) await carryOut(made.jobId, work);
      return jobOf(ledger, made.jobId);
    },
    begin: (request: object = {}, more: { faults?: Faults; from?: string } = {}): Promise<ExtractionAnswer> =>
      beginExtraction(
        { ...parts, faults: more.faults ?? NO_FAULTS },
        more.from ?? 'old',
        extractBody.parse({ job_id: 'new', ...request }),
      ),
    replace: (jobId = 'new') => replaceResults(parts, jobId),
    jobs: async () => {
      const { entries } = await ledger.jobs({ status: null, page: { after: null, limit: 100 } });
      return entries.map(({ jobId }) => jobId);
    },
  };
}

/** A page, its data and where it came from. */
export function pageOf({ itemId }: LeasedItem, data: object = { owner: `owner of ${itemId}` }): Kept {
  return { html: `<p>${itemId}</p>`, data, metadata: { job_id: 'old', url: `https://county.example/${itemId}` } };
}

/** The same without files, for many pages that are never read. */
export function onlyNamed({ itemId }: LeasedItem): Outcome {
  return { kind: 'scraped', artifacts: [storedArtifact(`old/items/${itemId}/html.html`)] };
}
