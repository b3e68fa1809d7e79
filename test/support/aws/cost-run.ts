import { hash, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { openDynamoLedger } from '../../../src/adapters/aws/ledger.ts';
import { provisionAws } from '../../../src/adapters/aws/provisioning.ts';
import { openS3ResultStore } from '../../../src/adapters/aws/result-store.ts';
import { openSqsQueue } from '../../../src/adapters/aws/work-queue.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { loadConfig } from '../../../src/config.ts';
import { startApi } from '../../../src/controller/api/start-api.ts';
import { EventStream } from '../../../src/controller/engine/events.ts';
import { importItems } from '../../../src/controller/intake/intake.ts';
import type { NewItem } from '../../../src/domain/item.ts';
import type { JobRecord } from '../../../src/domain/job.ts';
import type { ThrottlingPolicy } from '../../../src/domain/policy.ts';
import { NO_PRICES } from '../../../src/domain/prices.ts';
import { openLog } from '../../../src/main/log.ts';
import { NO_FAULTS } from '../../../src/ports/faults.ts';
import { NO_ITEM_WAITS } from '../../../src/ports/item-waits.ts';
import { loadScrapers } from '../../../src/scraping/registry.ts';
import { newJob, policyOf } from '../builders.ts';
import { openFileCatalog } from '../file-catalog.ts';
import { openMemoryHostPauses } from '../memory/host-pauses.ts';
import { openMemoryHostRecords } from '../memory/host-records.ts';
import { openMemoryHostSettings } from '../memory/host-settings.ts';
import { openMemoryRecordings } from '../memory/recordings.ts';
import { openMemoryRuns } from '../memory/run-book.ts';
import { openMemorySiteData } from '../memory/site-data.ts';
import { openMemoryStepRecords } from '../memory/step-records.ts';
import { startEmulators } from './emulators.ts';
import { startFleet } from './fleet.ts';
import { awsNames } from './names.ts';
import { type MeterProxy, type Reading, startMeterProxy, Tally } from './request-meter.ts';

/** What an item may cost at most (docs/aws.md), in a job of a hundred thousand. */
export const BUDGET = { writeUnits: 0.5, sqsRequests: 0.05, s3Puts: 3 } as const;

export interface CostRun {
  readonly items: number;
  /** Nothing, or a page, data and metadata. */
  readonly keeps: 'nothing' | 'three files';
  readonly workers: number;
  readonly concurrency: number;
  /** How long each item takes, beyond what it needs. */
  readonly ms?: number;
  readonly throttling?: Partial<ThrottlingPolicy>;
}

const SCRAPER_OF = { nothing: 'test-keeps-nothing', 'three files': 'test-three-files' } as const;
const SCRAPERS = fileURLToPath(new URL('./scrapers', import.meta.url));

export interface CostReport {
  readonly job: JobRecord;
  readonly seconds: number;
  /** Requests of the whole job: import, work, manifest. */
  readonly whole: Reading;
  /** Requests for reading its status once: `GET /jobs/{id}/status`. */
  readonly statusRead: Reading;
}

const JOB = 'priced';

/** A whole job on the emulators at production's pace, with every request counted on the wire. */
export async function runCounted({
  items,
  keeps,
  workers,
  concurrency,
  ms = 0,
  throttling = {},
}: CostRun): Promise<CostReport> {
  const emulators = await startEmulators();
  const names = awsNames(emulators, `cost-${randomUUID().slice(0, 8)}`);
  const clock = systemClock();
  const clients = emulators.clients();
  const { problems } = await provisionAws(clients, names, { clock, signal: new AbortController().signal });
  clients.close();
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  const { endpoints } = emulators.overrides;
  const tally = new Tally();
  const dynamo = await startMeterProxy({ target: endpoints.dynamo, service: 'dynamo', tally });
  const sqs = await startMeterProxy({ target: endpoints.sqs, service: 'sqs', tally });
  const s3 = await startMeterProxy({ target: endpoints.s3, service: 's3', tally });
  const metered = { dynamo: dynamo.url, sqs: sqs.url, s3: s3.url };
  const queueUrls = {
    http: names.queueUrls.http.replace(endpoints.sqs, metered.sqs),
    browser: names.queueUrls.browser.replace(endpoints.sqs, metered.sqs),
  };
  const fleet = await startFleet({
    settings: { ...names, queueUrls },
    overrides: { ...emulators.overrides, endpoints: metered },
    controllers: 1,
    workers,
    slots: 8,
    scrapers: [SCRAPERS],
  });
  try {
    const [controller] = fleet.controllers;
    if (controller === undefined) throw new Error('no controller');
    const { ledger } = controller;
    dynamo.reset();
    const begunAt = performance.now();
    const policy = policyOf({ throttling: { max_concurrent_workers: concurrency, ...throttling } });
    await ledger.createJob({ ...newJob({ jobId: JOB, scraperId: SCRAPER_OF[keeps] }), policy }, [], clock.now());
    const finished = untilManifest(ledger);
    await importItems({ ledger, clock, faults: NO_FAULTS }, JOB, parcels(items, ms));
    const job = await finished;
    const whole = dynamo.read();
    const seconds = (performance.now() - begunAt) / 1000;
    // The status is read after the fleet has stopped, so that no other requests are counted.
    await fleet.stop();
    return { job, seconds, whole, statusRead: await readStatus({ ...names, queueUrls }, metered, dynamo) };
  } finally {
    await fleet.stop();
    await Promise.all([dynamo.stop(), sqs.stop(), s3.stop()]);
    await emulators.stop();
  }

  /** Read through an API with nothing else behind it, so that no other requests are counted. */
  async function readStatus(settings: typeof names, through: typeof metered, counter: MeterProxy): Promise<Reading> {
    const quiet = openAwsClients({ ...emulators.overrides, endpoints: through });
    const reader = openDynamoLedger({ ...quiet, ...settings, clock, listen: false });
    const store = openS3ResultStore({ ...quiet, ...settings, clock });
    const queue = openSqsQueue({ ...quiet, ...settings, clock, onTrouble: () => {} });
    const config = loadConfig({ backend: { kind: 'aws', ...settings }, port: 0, logLevel: 'silent' }, {});
    const api = await startApi(
      {
        ...{
          ...reader,
          store,
          links: store,
          pathOf: ({ key }) => key,
          queue,
          hostPauses: openMemoryHostPauses(),
          hostSettings: openMemoryHostSettings(),
          hostRecords: openMemoryHostRecords(reader.ledger),
          stepRecords: openMemoryStepRecords(reader.ledger),
          itemWaits: NO_ITEM_WAITS,
          ...openMemorySiteData(),
          runs: openMemoryRuns(),
          fileSites: new Map(),
          siteInspector: { inspect: async () => ({ kind: 'unreadable' as const, message: 'there is no web here' }) },
          clock,
          faults: NO_FAULTS,
          version: '0.0.0',
        },
        digest: (text) => hash('sha256', text),
        ...openMemoryRecordings(),
        catalog: openFileCatalog(await loadScrapers([SCRAPERS])),
        defaultScraper: 'example-mock',
        prices: NO_PRICES,
        runService: { problem: 'no ETL API' },
        browserProvider: 'local',
        servedLanes: () => null,
        proxyProblem: () => null,
        events: new EventStream(),
        standing: () => ({ isLeading: false, storageProblem: null }),
        onStorageTrouble: () => {},
      },
      config,
      openLog(config),
    );
    counter.reset();
    const answer = await fetch(`${api.url}/jobs/${JOB}/status`);
    if (!answer.ok) throw new Error(await answer.text());
    const reading = counter.read();
    await api.drain(1000);
    await api.close();
    await Promise.all([reader.close(), queue.close()]);
    quiet.close();
    return reading;
  }
}

/** Parcel numbers as a county writes them. */
function* parcels(items: number, ms: number): Generator<readonly NewItem[]> {
  for (let from = 0; from < items; from += 1000) {
    const length = Math.min(1000, items - from);
    yield Array.from({ length }, (_, index) => {
      const number = from + index;
      const apn = `${100 + (number % 900)}-${10 + (number % 83)}-${String(number).padStart(7, '0')}`;
      return { itemId: apn, input: { number, apn, ms } };
    });
  }
}

function untilManifest(ledger: ReturnType<typeof openDynamoLedger>['ledger']): Promise<JobRecord> {
  const { promise, resolve } = Promise.withResolvers<JobRecord>();
  const unsubscribe = ledger.subscribe((change) => {
    if (change.kind === 'job' && change.job.manifest !== null) resolve(change.job);
  });
  return promise.finally(unsubscribe);
}
