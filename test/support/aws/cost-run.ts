import { fileURLToPath } from 'node:url';
import { openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { openDynamoLedger } from '../../../src/adapters/aws/ledger.ts';
import { provisionAws } from '../../../src/adapters/aws/provisioning.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { importItems } from '../../../src/controller/intake.ts';
import type { NewItem } from '../../../src/domain/item.ts';
import type { JobRecord } from '../../../src/domain/job.ts';
import { NO_FAULTS } from '../../../src/ports/faults.ts';
import { newJob, policyOf } from '../builders.ts';
import { startEmulators } from './emulators.ts';
import { startFleet } from './fleet.ts';
import { awsNames } from './names.ts';
import { type Reading, startMeterProxy, Tally } from './request-meter.ts';

export interface CostRun {
  readonly items: number;
  /** Nothing, or a page, data and metadata. */
  readonly keeps: 'nothing' | 'three files';
  readonly workers: number;
  readonly concurrency: number;
}

const SCRAPER_OF = { nothing: 'example-noop', 'three files': 'test-three-files' } as const;
const SCRAPERS = fileURLToPath(new URL('./scrapers', import.meta.url));

export interface CostReport {
  readonly job: JobRecord;
  readonly seconds: number;
  /** Of the whole job: import, work, manifest. */
  readonly whole: Reading;
  /** Of reading its status once. */
  readonly statusRead: Reading;
}

const JOB = 'priced';

/** A whole job on the emulators, with every request counted on the wire. */
export async function runCounted({ items, keeps, workers, concurrency }: CostRun): Promise<CostReport> {
  const emulators = await startEmulators();
  const names = awsNames(emulators, 'cost');
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
    leaseMs: 60_000,
    scrapers: [SCRAPERS],
  });
  let stopping: Promise<void> | null = null;
  const stop = () => {
    stopping ??= fleet.stop();
    return stopping;
  };
  try {
    const [controller] = fleet.controllers;
    if (controller === undefined) throw new Error('no controller');
    const { ledger } = controller;
    dynamo.reset();
    const begunAt = performance.now();
    const policy = policyOf({ throttling: { max_concurrent_workers: concurrency } });
    await ledger.createJob({ ...newJob({ jobId: JOB, scraperId: SCRAPER_OF[keeps] }), policy }, [], clock.now());
    const finished = untilManifest(ledger);
    await importItems({ ledger, clock, faults: NO_FAULTS }, JOB, parcels(items));
    const job = await finished;
    const whole = dynamo.read();
    const seconds = (performance.now() - begunAt) / 1000;
    // Alone, so that nobody else's requests are counted.
    await stop();
    const quiet = openAwsClients({ ...emulators.overrides, endpoints: metered });
    const reader = openDynamoLedger({ ...quiet, ...names, clock, listen: false });
    dynamo.reset();
    await reader.ledger.job(JOB);
    const statusRead = dynamo.read();
    await reader.close();
    quiet.close();
    return { job, seconds, whole, statusRead };
  } finally {
    await stop();
    await Promise.all([dynamo.stop(), sqs.stop(), s3.stop()]);
    await emulators.stop();
  }
}

/** Parcel numbers as a county writes them. */
function* parcels(items: number): Generator<readonly NewItem[]> {
  for (let from = 0; from < items; from += 1000) {
    const length = Math.min(1000, items - from);
    yield Array.from({ length }, (_, index) => {
      const number = from + index;
      const apn = `${100 + (number % 900)}-${10 + (number % 83)}-${String(number).padStart(7, '0')}`;
      return { itemId: apn, input: { number, apn } };
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
