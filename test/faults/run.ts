import { hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { openDynamoLedger } from '../../src/adapters/aws/ledger.ts';
import { provisionAws } from '../../src/adapters/aws/provisioning.ts';
import { openS3ResultStore } from '../../src/adapters/aws/result-store.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { importItems } from '../../src/controller/intake.ts';
import { verifyJob } from '../../src/controller/verify.ts';
import { finishedOf, inFlightOf, pendingOf } from '../../src/domain/counts.ts';
import { type ItemRecord, isFinal, type NewItem } from '../../src/domain/item.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { Ledger, Page } from '../../src/ports/ledger.ts';
import { startEmulators } from '../support/aws/emulators.ts';
import { type FaultRates, startFaultProxy } from '../support/aws/fault-proxy.ts';
import { startFleet } from '../support/aws/fleet.ts';
import { awsNames } from '../support/aws/names.ts';
import { newJob, policyOf } from '../support/builders.ts';

export interface FaultRun {
  readonly items: number;
  readonly seed: number;
  /** How likely each kind of fault is for a request that it can strike. */
  readonly rates: FaultRates;
  readonly say: (line: string) => void;
}

export interface FaultReport {
  readonly problems: readonly string[];
  readonly job: JobRecord;
  /** Times that the counters were read while the job ran. */
  readonly reads: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly seconds: number;
}

const JOB = 'faulty';
const SCRAPERS = fileURLToPath(new URL('./scrapers', import.meta.url));

/**
 * A whole job, import to manifest, by two controllers and four workers, through proxies that fail, lose, double, delay
 * and reorder; and somebody who reads the counters all the time, without a proxy. Afterwards everything is counted.
 */
export async function runUnderFaults({ items, seed, rates, say }: FaultRun): Promise<FaultReport> {
  const begunAt = performance.now();
  const emulators = await startEmulators();
  const names = awsNames(emulators, 'faults');
  const clock = systemClock();
  const clients = emulators.clients();
  const { problems: unmade } = await provisionAws(clients, names, { clock, signal: new AbortController().signal });
  if (unmade.length > 0) throw new Error(JSON.stringify(unmade));
  const { endpoints } = emulators.overrides;
  const proxies = await Promise.all([
    startFaultProxy({ target: endpoints.dynamo, service: 'dynamo', seed, faults: rates }),
    startFaultProxy({ target: endpoints.sqs, service: 'sqs', seed: seed + 1, faults: rates }),
    startFaultProxy({ target: endpoints.s3, service: 's3', seed: seed + 2, faults: rates }),
  ]);
  const [dynamo, sqs, s3] = proxies.map(({ url }) => url);
  const behindProxies = { dynamo: dynamo ?? '', sqs: sqs ?? '', s3: s3 ?? '' };
  const queueUrls = {
    http: names.queueUrls.http.replace(endpoints.sqs, behindProxies.sqs),
    browser: names.queueUrls.browser.replace(endpoints.sqs, behindProxies.sqs),
  };
  const fleet = await startFleet({
    settings: { ...names, queueUrls },
    overrides: { ...emulators.overrides, endpoints: behindProxies },
    controllers: 2,
    workers: 4,
    slots: 8,
    // Shorter than the longest item, and one of the workers does not renew: its work is done again, and it comes too late.
    leaseMs: 4000,
    lameWorkers: 1,
    scrapers: [SCRAPERS],
    onTrouble: (where, error) => say(`  ${where}: ${error instanceof Error ? error.message : error}`),
  });
  const reader = openDynamoLedger({ ...clients, ...names, clock, listen: false });
  try {
    const [first] = fleet.controllers;
    if (first === undefined) throw new Error('no controller');
    const policy = policyOf({ throttling: { max_concurrent_workers: 24 } });
    const made = await first.ledger.createJob(
      { ...newJob({ jobId: JOB, scraperId: 'test-noted' }), policy },
      [],
      clock.now(),
    );
    if (made.kind !== 'created') throw new Error(`the job is there already: ${made.kind}`);
    const watched = watchCounters(reader.ledger, items);
    await importItems({ ledger: first.ledger, clock, faults: NO_FAULTS }, JOB, chunksOf(items));
    say(`imported ${items} items`);
    const { job, reads, problems } = await watched;
    say(`done: ${JSON.stringify(job.counts)} after ${reads} reads`);
    const store = openS3ResultStore({ ...clients, ...names, clock });
    problems.push(...(await recount(reader.ledger, job, items)));
    const report = await verifyJob({ store, digest: (text) => hash('sha256', text) }, JOB);
    if (report.kind !== 'checked' || report.problemCount > 0) problems.push(`verify: ${JSON.stringify(report)}`);
    return {
      problems,
      job,
      reads,
      faults: sumOf(proxies.map((proxy) => proxy.counts())),
      seconds: (performance.now() - begunAt) / 1000,
    };
  } finally {
    await fleet.stop();
    await reader.close();
    clients.close();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await emulators.stop();
  }
}

function* chunksOf(items: number): Generator<readonly NewItem[]> {
  for (let from = 0; from < items; from += 1000) {
    const length = Math.min(1000, items - from);
    yield Array.from({ length }, (_, index) => ({ itemId: `item-${from + index}`, input: { number: from + index } }));
  }
}

/** Reads again and again until the job has its manifest. What ended never becomes less; the sum is the total. */
async function watchCounters(ledger: Ledger, items: number) {
  const problems: string[] = [];
  let reads = 0;
  let before = 0;
  for (;;) {
    const job = await ledger.job(JOB);
    if (job === null) throw new Error('the job is gone');
    reads += 1;
    const { counts } = job;
    const finished = finishedOf(counts);
    const all = [pendingOf(counts), ...Object.values(counts)];
    if (all.some((count) => count < 0)) problems.push(`below zero: ${JSON.stringify(counts)}`);
    if (finished < before) problems.push(`fewer have ended than before: ${finished} < ${before}`);
    if (counts.total > items) problems.push(`more items than there are: ${counts.total}`);
    if (inFlightOf(counts) > job.policy.throttling.max_concurrent_workers)
      problems.push(`too many in flight: ${JSON.stringify(counts)}`);
    before = finished;
    if (job.manifest !== null && counts.total === items) return { job, reads, problems };
  }
}

/** Every item ended, once, as its input says; and the counters are what one counts. */
async function recount(ledger: Ledger, job: JobRecord, items: number): Promise<readonly string[]> {
  const problems: string[] = [];
  const seen = new Map<string, ItemRecord>();
  let after: string | null = null;
  do {
    const page: Page<ItemRecord> = await ledger.items(JOB, { status: null, errorType: null }, { after, limit: 1000 });
    for (const item of page.entries) {
      if (seen.has(item.itemId)) problems.push(`${item.itemId} is there twice`);
      seen.set(item.itemId, item);
    }
    after = page.next;
  } while (after !== null);
  const ends = { success: 0, failed: 0 };
  for (let number = 0; number < items; number += 1) {
    const item = seen.get(`item-${number}`);
    const expected = number % 50 === 7 ? 'failed' : 'success';
    if (item === undefined || !isFinal(item.status)) problems.push(`item-${number} is lost: ${item?.status}`);
    else if (item.status !== expected)
      problems.push(`item-${number} is ${item.status}: ${JSON.stringify(item.attempts.at(-1)?.failure)}`);
    else ends[expected] += 1;
    if (item !== undefined && item.attempts.length !== 1)
      problems.push(`item-${number} ended ${item.attempts.length} times`);
    if (item?.status === 'success' && item.artifacts.length !== (number % 10 === 0 ? 1 : 0)) {
      problems.push(`item-${number} has ${item.artifacts.length} artifacts`);
    }
  }
  const { success, failed, total } = job.counts;
  if (success !== ends.success || failed !== ends.failed || total !== items) {
    problems.push(`counted ${JSON.stringify(job.counts)}, there are ${JSON.stringify(ends)} of ${items}`);
  }
  const groups = await ledger.failureGroups(JOB, 1000);
  const grouped = groups.reduce((sum, { count }) => sum + count, 0);
  if (grouped !== failed) problems.push(`${grouped} failures in groups, ${failed} counted`);
  return problems;
}

function sumOf(counts: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const [name, count] of counts.flatMap((each) => Object.entries(each))) {
    if (!name.includes(' ')) sums[name] = (sums[name] ?? 0) + count;
  }
  return sums;
}
