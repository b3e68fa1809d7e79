import { hash } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { CatalogScraper } from '../../src/controller/intake/scraper-catalog.ts';
import { type Failure, type FailureType, failure } from '../../src/domain/failure.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { DEFAULT_POLICY } from '../../src/domain/policy.ts';
import { NO_PRICES } from '../../src/domain/prices.ts';
import { runPolicy } from '../../src/domain/run-options.ts';
import { type Faults, NO_FAULTS } from '../../src/ports/faults.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { composeRunOrders, type RunRow } from '../../src/ports/run-orders.ts';
import type { RunWish } from '../../src/ports/run-service.ts';
import { RunOrchestrator } from '../../src/runs/orchestrator/run-orchestrator.ts';
import { MANIFEST } from '../contract/ledger/hands.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { openMemorySiteRows } from '../support/memory/site-rows.ts';
import { type Dialect, openEtlServer } from './etl-server.ts';
import { openClient } from './support.ts';

export const DOMAIN = 'county.gov';

export function urlsOf(count: number, host = DOMAIN): string[] {
  return Array.from({ length: count }, (_, at) => `https://${host}/${at}`);
}

/** A run of this domain, two sessions with up to three items each. */
export function wishFor(urls: readonly string[], more: Partial<RunWish> = {}): RunWish {
  const { sessions = 2, maxItemsPerSession = 3 } = more;
  return {
    ...{ domain: DOMAIN, urls, scraperId: 'pages', sessions, maxItemsPerSession, strategy: 'domain-affinity' },
    policy: runPolicy(DEFAULT_POLICY, {}, sessions, maxItemsPerSession),
    ...more,
  };
}

const SCRAPER: CatalogScraper = {
  ...{ id: 'pages', name: 'Pages', version: '1.0.0', description: '', kind: 'http', hosts: [DOMAIN], lane: 'http' },
  ...{ input: { properties: { url: {} }, required: ['url'] }, output: null, canExtract: false, problemsOf: () => [] },
  ...{ source: 'file', recording: null },
};

/** Scrapers as the orchestrator looks them up; there is only this one. */
const CATALOG = {
  list: async () => [{ kind: 'known', summary: SCRAPER } as const],
  find: async (id: string) => (id === SCRAPER.id ? SCRAPER : null),
};

/** A server, a ledger, and orchestrators on both, each of which can be thrown away as if its process had died. */
export async function openRuns(t: TestContext, dialect: Partial<Dialect> = {}) {
  const server = await openEtlServer(t, dialect);
  const { clock, waits } = openClient(server.endpoint);
  const ledger = openMemoryLedger();
  const rows = openMemorySiteRows<RunRow>();
  const warnings: string[] = [];
  const log = {
    info() {},
    warn: (fields: object, message: string) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
  };
  const orchestrate = (faults: Faults = NO_FAULTS) => {
    const { etl } = openClient(server.endpoint);
    const orchestrator = new RunOrchestrator({
      ...{ etl, orders: composeRunOrders(rows), ledger, catalog: CATALOG, clock, faults, prices: NO_PRICES, log },
      ...{ digest: (text: string) => hash('sha256', text), mayWork: () => true, onNews() {} },
      recordings: openMemoryRecordings().recordings,
    });
    t.after(() => orchestrator.close());
    return orchestrator;
  };
  return { server, ledger, clock, waits, warnings, orders: composeRunOrders(rows), orchestrate };
}

/** How an item ends, by its URL: null for a page that was read. */
export type Ending = (url: string) => FailureType | null;

export interface Worked {
  /** URLs in the order in which they were scraped, batch by batch. */
  readonly batches: readonly (readonly string[])[];
}

/** Works on a job as a worker would, on a limited number of items, and completes it when nothing is left. */
export async function work(
  ledger: Ledger,
  jobId: string,
  { ends = () => null, most = Number.POSITIVE_INFINITY }: { readonly ends?: Ending; readonly most?: number } = {},
): Promise<Worked> {
  const batches: string[][] = [];
  let left = most;
  const now = 1_750_000_100_000;
  while (left > 0) {
    const { refs = [] } = (await ledger.dispatch(jobId, 1, now)) ?? {};
    if (refs.length === 0) break;
    for (const lease of await ledger.claim(refs, 'worker', now + 60_000, now)) {
      if (typeof lease === 'string') continue;
      const urls: string[] = [];
      for (const { seq, attempt, input } of lease.items) {
        if (left <= 0) break;
        left -= 1;
        const url = String(input['url']);
        urls.push(url);
        const outcome = outcomeOf(ends(url), url);
        const item = { seq, attempt, outcome, tries: 1, startedAt: now, durationMs: 1 };
        await ledger.settle([{ token: lease.token, jobId, items: [item] }], now);
      }
      batches.push(urls);
      await ledger.release(lease.token, 'drained', now);
    }
  }
  const job = await ledger.changeJob(jobId, { kind: 'finish' }, now);
  if (typeof job === 'object' && 'round' in job) {
    await ledger.changeJob(jobId, { kind: 'complete', round: job.round, manifest: MANIFEST }, now);
  }
  return { batches };
}

function outcomeOf(type: FailureType | null, url: string): Outcome {
  return type === null ? { kind: 'scraped', artifacts: [] } : { kind: 'failed', failure: failed(type, url) };
}

function failed(type: FailureType, url: string): Failure {
  return failure(type, `${url} was asked to fail`);
}
