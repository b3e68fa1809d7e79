import { z } from 'zod';
import { Controller } from '../../src/controller/engine/controller.ts';
import { EventStream } from '../../src/controller/engine/events.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { policySchema } from '../../src/domain/policy.ts';
import { PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import { SharedPauses } from '../../src/egress/shared-pauses.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { HostShares } from '../../src/ports/host-shares.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { defineHttpScraper } from '../../src/scraping/http/define-http-scraper.ts';
import { ScraperRegistry } from '../../src/scraping/registry.ts';
import { receiveAndClaim } from '../../src/worker/receive-and-claim.ts';
import { Worker } from '../../src/worker/worker.ts';
import { Dice } from '../simulation/dice.ts';
import { runSteps } from '../simulation/driver.ts';
import { sha256 } from '../simulation/oracle/manifest.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { Timeline } from '../simulation/timeline.ts';
import { inProcessHeartbeat } from '../support/in-process-heartbeat.ts';
import { openMemoryHostPauses } from '../support/memory/host-pauses.ts';
import { openMemoryHostSettings } from '../support/memory/host-settings.ts';
import { openMemoryHostShares } from '../support/memory/host-shares.ts';
import { openMemoryLeadership } from '../support/memory/leadership.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { openMemoryQueue } from '../support/memory/work-queue.ts';
import { NO_TOOLS } from '../support/no-tools.ts';
import { County, type CountyPlan, countyWeb, HOST } from './county.ts';

export interface CountyOptions {
  readonly items: number;
  readonly workers: number;
  readonly isAdaptive: boolean;
  readonly seed: number;
  /** How long the county is down. */
  readonly outageMs: number;
}

export interface CountyReport {
  readonly status: JobRecord['status'];
  readonly success: number;
  readonly failed: number;
  readonly requests: number;
  /** Of all requests, those that the county refused because there were too many. */
  readonly refused_share: number;
  /** Requests while the county was down. */
  readonly outage_requests: number;
  readonly seconds: number;
  readonly ideal_seconds: number;
  /** The time it took to the ideal time: the outage, and every item at the fastest pace that the county accepts. */
  readonly time_ratio: number;
}

const LIMIT_PER_SECOND = 5;
const LEASE_MS = 30_000;
/** As on one machine. */
const SHARE_MS = 1000;

/** A job may take so many times the ideal time before it is given up. */
const PATIENCE = 4;

/**
 * A job at a county in virtual time. Controller, workers, gates, HTTP client and all decisions are the real ones; ledger,
 * queue and store are in memory. The policy says nothing about the pace that the county accepts.
 */
export async function runCounty({ items, workers, isAdaptive, seed, outageMs }: CountyOptions): Promise<CountyReport> {
  const timeline = new Timeline(new Dice(seed, 'order'));
  const workMs = (items / LIMIT_PER_SECOND) * 1000;
  const idealMs = workMs + outageMs;
  const plan: CountyPlan = {
    limitPerSecond: LIMIT_PER_SECOND,
    retryAfterSeconds: 2,
    slow: { from: workMs * 0.2, until: workMs * 0.3 },
    down: { from: workMs * 0.5, until: workMs * 0.5 + outageMs },
  };
  const county = new County(plan);
  const shared = {
    ledger: openMemoryLedger(),
    store: openMemoryResultStore(),
    pauses: openMemoryHostPauses(),
    settings: openMemoryHostSettings(),
    shares: openMemoryHostShares(),
  };
  const services = new SimProcess('services', timeline, seed);
  const queue = openMemoryQueue(services.clock);
  const parts = { ...shared, queue, county };
  const controller = startController(new SimProcess('controller', timeline, seed), parts);
  const stop = new AbortController();
  for (let n = 1; n <= workers; n += 1) {
    startWorker(new SimProcess(`worker-${n}`, timeline, seed), parts, stop.signal);
  }
  await createJob(shared.ledger, items, isAdaptive, services.clock.now());

  let endedAt: number | null = null;
  controller.events.subscribe((event) => {
    if (event.kind === 'job' && ['completed', 'failed', 'paused'].includes(event.job.status)) endedAt ??= timeline.now;
  });
  await runSteps({ step: () => endedAt === null && timeline.step(PATIENCE * idealMs) });
  const job = await shared.ledger.job(JOB_ID);
  if (job === null) throw new Error('the job is gone');
  const ms = endedAt ?? timeline.now;
  return {
    status: job.status,
    success: job.counts.success,
    failed: job.counts.failed,
    requests: county.requests,
    refused_share: round(county.refused / county.requests),
    outage_requests: county.outageRequests,
    seconds: Math.round(ms / 1000),
    ideal_seconds: Math.round(idealMs / 1000),
    time_ratio: round(ms / idealMs),
  };
}

const JOB_ID = 'county';

async function createJob(ledger: Ledger, items: number, isAdaptive: boolean, now: number): Promise<void> {
  const policy = policySchema.parse({ throttling: { max_concurrent_workers: 20, adaptive: isAdaptive } });
  const scraper = { scraperId: 'county', scraperVersion: '1', lane: 'http' } as const;
  const list = Array.from({ length: items }, (_, n) => ({ itemId: `p-${n}`, input: { parcel: String(n) } }));
  await ledger.createJob({ jobId: JOB_ID, name: null, ...scraper, policy, labels: {}, held: false }, list, now);
}

interface Parts {
  readonly ledger: ReturnType<typeof openMemoryLedger>;
  readonly store: ReturnType<typeof openMemoryResultStore>;
  readonly pauses: ReturnType<typeof openMemoryHostPauses>;
  readonly settings: ReturnType<typeof openMemoryHostSettings>;
  readonly shares: HostShares;
  readonly queue: ReturnType<typeof openMemoryQueue>;
  readonly county: County;
}

function startController(process: SimProcess, { ledger, queue, store }: Parts): Controller {
  const events = new EventStream();
  const controller = new Controller({
    ...openMemoryRecordings(),
    ...{ ledger, queue, store, leadership: openMemoryLeadership(), clock: process.clock, events, digest: sha256 },
    holder: process.name,
    faults: NO_FAULTS,
    probe: async () => {},
    makeRoom: async () => {},
    settings: {
      ...{ leaseMs: LEASE_MS, lostAfterMs: 600_000, leadMs: 60_000, handoverMs: 0, reapMs: 5000, pollMs: 5000 },
      ...{ probeMs: 5000, itemsPerBatch: 1, itemManifests: false },
    },
  });
  events.subscribe((event) => {
    if (event.kind === 'engine-error') throw event.error;
  });
  controller.start();
  return controller;
}

const SCRAPER = defineHttpScraper({
  id: 'county',
  name: 'County',
  version: '1',
  description: 'one page per parcel',
  input: z.object({ parcel: z.string() }),
  hosts: [HOST],
  async scrape({ input, http }) {
    const page = await http.get(`https://${HOST}/parcel?id=${input.parcel}`);
    return { html: page };
  },
});

function startWorker(process: SimProcess, parts: Parts, stop: AbortSignal): void {
  const { clock, name } = process;
  const { ledger, queue, store, county } = parts;
  const onError = (where: string, error: unknown) => {
    throw new Error(`${name}: ${where}`, { cause: error });
  };
  const pauses = new SharedPauses({
    ...{ pauses: parts.pauses, settings: parts.settings, worker: name, clock, everyMs: 1000, onError },
  });
  const gate = new PoliteHostGate({
    clock,
    onHold: (...hold) => pauses.note(...hold),
    shared: { shares: parts.shares, process: name, leaseMs: SHARE_MS, onError },
  });
  void pauses.run(gate, stop);
  const beats = {
    leases: ledger,
    queue,
    clock,
    leaseMs: LEASE_MS,
    onTrouble: (error: unknown) => onError('beat', error),
  };
  const scrapers = new ScraperRegistry();
  scrapers.add(SCRAPER, 'the model county');
  const shared = { leases: ledger, queue, store, clock, id: name, onError, faults: NO_FAULTS };
  const worker = new Worker({
    ...openMemoryRecordings(),
    ...shared,
    heartbeat: inProcessHeartbeat(beats),
    source: receiveAndClaim(shared),
    scrapers,
    digest: sha256,
    tools: { ...NO_TOOLS, web: countyWeb(county, clock), gate },
    onWait() {},
    onSteps() {},
    isStillHeld: ({ host }) => pauses.isPaused(gate, host),
    settings: { lane: 'http', slots: 20, leaseMs: LEASE_MS, drainGraceMs: 1000, settleEveryMs: 0, orderGoodMs: 500 },
  });
  void worker.run(stop);
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
