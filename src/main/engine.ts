import type { Logger } from 'pino';
import { systemClock } from '../adapters/system/clock.ts';
import { killFaults } from '../adapters/system/kill-faults.ts';
import type { Config } from '../config.ts';
import type { ApiSettings } from '../controller/api/start-api.ts';
import { Controller } from '../controller/engine/controller.ts';
import { EventStream } from '../controller/engine/events.ts';
import { logEvents, logProgress } from '../controller/engine/log-events.ts';
import { importItems } from '../controller/intake/intake.ts';
import { submitJob } from '../controller/jobs/submit.ts';
import { type EmfDeps, emfReporter, type StandingSource } from '../controller/metrics/cloudwatch-format.ts';
import { importSites } from '../controller/sites/import-sites.ts';
import type { NewItem } from '../domain/item.ts';
import { LANES, type Lane } from '../domain/lane.ts';
import { pricesOf } from '../domain/prices.ts';
import type { ProxyType } from '../domain/proxy-policy.ts';
import { openCatalog } from '../scraping/catalog.ts';
import type { WorkerPool } from '../worker/pool.ts';
import { refuseAddress } from './api-address.ts';
import type { WorkerEvent } from './backend.ts';
import { loadBackend } from './backends.ts';
import { plannedWorkers, startChildWorkers } from './child-workers.ts';
import { digest } from './digest.ts';
import { egressSettings, proxyProblem } from './egress-settings.ts';
import { limitHeapGrowth } from './heap-growth.ts';
import { openLog } from './log.ts';
import { openRuns } from './runs.ts';
import { followScrapers } from './scrapers.ts';
import { openSiteInspector } from './site-inspector.ts';
import { readSitesFile } from './sites-file.ts';
import { VERSION } from './version.ts';

/** CloudWatch keeps a point a minute. */
const NUMBERS_EVERY_MS = 60_000;

/** For answers that are being written when the engine stops. */
const API_GRACE_MS = 5000;

export type Engine = Awaited<ReturnType<typeof openEngine>>;

/**
 * A controller on its backend, open to workers, with all its components: for `controller.ts`, tests and benchmarks.
 * Commands open it through `openController` or `openPrivateService`, and reach it by its API.
 */
export async function openEngine(config: Config, log: Logger = openLog(config)) {
  limitHeapGrowth();
  // A worker that could not read them would end, and so would the one in its place.
  egressSettings(config);
  const fileSites = readSitesFile(config);
  const registry = await followScrapers(config, systemClock(), log);
  const { defaultScraper } = config;
  const prices = pricesOf(config);
  const events = new EventStream();
  const onError = (where: string, error: unknown) => events.publish({ kind: 'engine-error', where, error });
  const backend = await (await loadBackend(config)).open(config, onError);
  const { clock, ledger, queue, hostPauses, hostSettings, hostRecords, stepRecords, itemWaits, store, links, pathOf } =
    backend;
  const { sites, pageCache, pathErrors, batchTurns, runs, runOrders, recordings, recordingBook } = backend;
  const catalog = openCatalog({ registry, recordings, recordingBook, clock });
  const faults = killFaults(config.faults, clock);
  // A store that fails for a moment keeps no engine from starting: what is stored of sites is used.
  await importSites({ sites, clock }, fileSites).catch((error: unknown) => onError('sites file', error));
  const siteInspector = openSiteInspector(config, clock);
  const logs = [logEvents(events, log), logProgress(events, log, clock)];
  const controller = new Controller({ ...backend, hosts: { hostPauses, hostSettings }, faults, events, digest });
  const ready = workersReady();
  const onWorker = (event: WorkerEvent) => {
    if (event.kind === 'storage-trouble') {
      controller.storageTrouble(event.message);
      return;
    }
    events.publish(event);
    if (event.kind === 'worker-joined') ready.joined();
    if (event.kind === 'worker-left' && event.abandoned > 0) controller.workerLost();
  };
  const reception = await backend.acceptWorkers(onWorker).catch(async (error: unknown) => {
    await backend.close();
    throw error;
  });
  controller.start();
  const standing = () => controller.standing();
  const { runService, ...carrying } = openRuns(config, {
    ...{ ledger, catalog, clock, digest, faults, prices, log, onError, recordings, orders: runOrders },
    mayWork: () => standing().isLeading,
  });
  const numbers =
    config.metrics === 'emf' ? logNumbers(config, { events, clock, ledger, queue, controller: standing }) : null;
  // In the background: what a former process left of a large removal takes minutes.
  backend.sweep().catch((error: unknown) => onError('sweep', error));
  let pool: WorkerPool | null = null;
  let startedLanes: readonly Lane[] = [];
  /** Includes the lanes of workers that are being started. */
  const servedLanes = (): ReadonlySet<Lane> | null => {
    const joined = reception.lanes();
    return joined && new Set([...joined, ...startedLanes]);
  };
  let api: { drain(graceMs: number): Promise<void>; close(): Promise<void> } | null = null;

  return {
    clock,
    ledger,
    queue,
    store,
    pathOf,
    ...{ sites, pageCache, pathErrors, batchTurns, runs, runOrders, runService, recordings },
    events,
    submit: (request: unknown) =>
      submitJob({ ledger, recordings, faults, clock, catalog, digest, defaultScraper, prices }, request, null),
    importItems: (jobId: string, chunks: AsyncIterable<readonly NewItem[]> | Iterable<readonly NewItem[]>) =>
      importItems({ ledger, clock, faults }, jobId, chunks),
    /** The REST API on this engine, until it stops; returns its address. */
    async listen(settings: ApiSettings = config): Promise<string> {
      // Loaded on demand: a process that only runs the engine does not need it.
      const { startApi } = await import('../controller/api/start-api.ts');
      const parts = {
        ...{ ledger, store, links, pathOf, queue, hostPauses, clock, faults, digest, catalog, defaultScraper, events },
        ...{ hostSettings, hostRecords, stepRecords, itemWaits, servedLanes, version: VERSION, standing, prices },
        ...{ sites, fileSites, pageCache, pathErrors, siteInspector, runs, recordings, recordingBook },
        ...{ runService, browserProvider: config.browserProvider },
        // Workers that were started elsewhere have settings of their own.
        proxyProblem: (type: ProxyType) => (pool === null ? null : proxyProblem(config, type)),
        feedSettings: backend.feedSettings,
        onStorageTrouble: (message: string) => controller.storageTrouble(message),
      };
      const opened = await startApi(parts, settings, log).catch(refuseAddress);
      api = opened;
      return opened.url;
    },
    /** Worker processes, kept at their number until the engine stops. */
    startWorkers(lanes: readonly Lane[] = LANES) {
      if (pool === null) {
        const planned = plannedWorkers(config).filter(({ lane }) => lanes.includes(lane));
        startedLanes = planned.map(({ lane }) => lane);
        ready.expect(planned.length);
        pool = startChildWorkers(config, planned, clock);
        pool.onChange((change) => reception.heardOfChild(change));
      }
      return { ...pool, ready: ready.promise };
    },
    async stop(apiGraceMs = API_GRACE_MS) {
      // It goes on answering, with 503, until all else has stopped: a client learns that it may come back in a moment.
      await api?.drain(apiGraceMs);
      // What has ended by then is reported when it is opened again.
      await carrying.close();
      await controller.stop();
      // Workers give back or settle what they have, so the ledger must outlive them.
      await pool?.stop(config.drainGraceMs + 5000);
      await reception.close();
      await numbers?.close();
      await api?.close();
      await siteInspector.close();
      await backend.close();
      for (const endLog of logs) endLog();
    },
  };
}

function logNumbers(
  { logTo }: Config,
  { events, clock, ...standing }: StandingSource & Pick<EmfDeps, 'events' | 'clock'>,
) {
  const write = (line: string) => void process[logTo].write(`${line}\n`);
  return emfReporter({ events, clock, standing, write, everyMs: NUMBERS_EVERY_MS });
}

function workersReady() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let joined = 0;
  let expected = Number.POSITIVE_INFINITY;
  const look = () => {
    if (joined >= expected) resolve();
  };
  return {
    promise,
    joined() {
      joined += 1;
      look();
    },
    expect(count: number) {
      expected = count;
      look();
    },
  };
}
