import { hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { openDynamoLedger } from '../../src/adapters/aws/ledger.ts';
import { provisionAws } from '../../src/adapters/aws/provisioning.ts';
import { openS3ResultStore } from '../../src/adapters/aws/result-store.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { importItems } from '../../src/controller/intake/intake.ts';
import { verifyJob } from '../../src/controller/results/verify.ts';
import type { Counts } from '../../src/domain/counts.ts';
import type { NewItem } from '../../src/domain/item.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { startEmulators } from '../support/aws/emulators.ts';
import { type FaultRates, startFaultProxy } from '../support/aws/fault-proxy.ts';
import { type Fleet, startFleet } from '../support/aws/fleet.ts';
import { awsNames } from '../support/aws/names.ts';
import { newJob, policyOf } from '../support/builders.ts';
import { notesOf } from './notes.ts';
import { recount } from './recount.ts';
import { watchCounters } from './watch-counters.ts';

export interface FaultRun {
  readonly items: number;
  readonly seed: number;
  /** How likely each kind of fault is for a request that it can strike. */
  readonly rates: FaultRates;
  readonly say: (line: string) => void;
}

export interface FaultReport {
  readonly problems: readonly string[];
  readonly counts: Counts;
  /** Settles that came when the lease was lost. */
  readonly fenced: number;
  /** Times that the counters were read while the job ran, and times that they were compared with all items. */
  readonly reads: number;
  readonly recounts: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly seconds: number;
}

const JOB = 'faulty';
const SCRAPERS = fileURLToPath(new URL('./scrapers', import.meta.url));

/**
 * A whole job, import to manifest, by two controllers and four workers, through proxies that fail, lose, double, delay
 * and reorder; a reader reads the counters all the time, without a proxy. Afterwards everything is counted.
 */
export async function runUnderFaults({ items, seed, rates, say }: FaultRun): Promise<FaultReport> {
  const begunAt = performance.now();
  const emulators = await startEmulators();
  const names = awsNames(emulators, `faults-${process.pid}`);
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
    // Shorter than the longest item. One of the workers does not renew: its work is done again, and it comes too late.
    leaseMs: 4000,
    isFirstLame: true,
    // The proxies lose messages: in production a message is late far more often than lost.
    pace: { lostAfterMs: 5000, leadMs: 3000, handoverMs: 10_000, reapMs: 500, pollMs: 1000, probeMs: 500 },
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
    const notes = notesOf(JOB);
    const recorded = recordedBy(fleet);
    const watched = watchCounters({ ledger: reader.ledger, jobId: JOB, items, notes, recorded });
    void notes.firstBegun.then(() => fleet.startOthers());
    await importItems({ ledger: first.ledger, clock, faults: NO_FAULTS }, JOB, chunksOf(items));
    say(`imported ${items} items`);
    const { job, reads, recounts, problems: seen } = await watched;
    say(`done: ${JSON.stringify(job.counts)} after ${reads} reads`);
    // A worker that came too late has said so by then.
    await fleet.stop();
    const { fenced } = (await reader.ledger.job(JOB)) ?? job;
    const store = openS3ResultStore({ ...clients, ...names, clock });
    const problems = [...seen, ...(await recount(reader.ledger, job, items))];
    const report = await verifyJob({ store, digest: (text) => hash('sha256', text) }, JOB);
    if (report.kind !== 'checked' || report.problemCount > 0) problems.push(`verify: ${JSON.stringify(report)}`);
    return {
      problems,
      counts: job.counts,
      fenced,
      reads,
      recounts,
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

/** Items whose worker was notified that their end is recorded. */
function recordedBy({ workers }: Fleet) {
  const recorded = { success: new Set<string>(), failed: new Set<string>() };
  for (const { ledger } of workers) {
    ledger.subscribe((change) => {
      if (change.kind !== 'settled') return;
      for (const { itemId, status } of change.items) if (status !== 'skipped') recorded[status].add(itemId);
    });
  }
  return recorded;
}

function sumOf(counts: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const [name, count] of counts.flatMap((each) => Object.entries(each))) {
    if (!name.includes(' ')) sums[name] = (sums[name] ?? 0) + count;
  }
  return sums;
}
