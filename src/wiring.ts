import { hash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Logger, pino } from 'pino';
import { inspectLedger } from './adapters/embedded/ledger/inspect-ledger.ts';
import { systemClock } from './adapters/system/clock.ts';
import { killFaults } from './adapters/system/kill-faults.ts';
import { type AwsBackendConfig, type Config, ConfigError, countWorkers, laneConfig, toEnvironment } from './config.ts';
import type { VerifyReport } from './contract/verify-report.ts';
import { checkListening, RefusedToListen } from './controller/api/listening.ts';
import { Controller } from './controller/engine/controller.ts';
import { EventStream } from './controller/engine/events.ts';
import { logEvents, logProgress } from './controller/engine/log-events.ts';
import { importItems } from './controller/intake/intake.ts';
import { formatOfName, readItems, UnreadableItems } from './controller/intake/read-items.ts';
import { retryItems } from './controller/jobs/retry.ts';
import { submitJob } from './controller/jobs/submit.ts';
import { type EmfParts, emfReporter, type StandingSource } from './controller/metrics/cloudwatch-format.ts';
import { resultRows } from './controller/results/result-rows.ts';
import { verifyJob } from './controller/results/verify.ts';
import { errorMessage } from './domain/error-message.ts';
import type { NewItem } from './domain/item.ts';
import { LANES, type Lane } from './domain/lane.ts';
import { parseAddressRanges } from './egress/address-range.ts';
import { AddressRules } from './egress/address-rules.ts';
import { parseDnsServers } from './egress/dns-servers.ts';
import { openNameLookup } from './egress/name-lookup.ts';
import { parseRoutes } from './egress/routes.ts';
import type { RetryFilter } from './ports/ledger.ts';
import { catalogOf } from './scraping/catalog.ts';
import { NO_LOG, OPEN_GATE } from './scraping/fixtures/run-case.ts';
import { loadScrapers } from './scraping/registry.ts';
import { NoScraperFolder } from './scraping/scraper-files.ts';
import { openWorkshop } from './scraping/workshop.ts';
import type { Backend, WorkerEvent } from './wiring-backend.ts';
import { openEmbeddedBackend, openFileResults } from './wiring-embedded.ts';
import { startWorkerPool } from './worker/pool.ts';

export const digest = (text: string) => hash('sha256', text);

const SHIPPED_SCRAPERS = fileURLToPath(new URL('../scrapers', import.meta.url));

/**
 * For the C library's allocator: what was a large block goes back to the system when it is freed, always. By default it
 * learns from the first such blocks to keep them, and a worker that met a few large pages stays tens of megabytes larger.
 * `bin/trawl` and the image set the same value for their own process; it is repeated for workers of a process that was
 * started by other means.
 */
const RETURN_LARGE_MEMORY = { MALLOC_MMAP_THRESHOLD_: '131072' };

/** CloudWatch keeps a point a minute. */
const NUMBERS_EVERY_MS = 60_000;

/** For answers that are being written when the engine stops. */
const API_GRACE_MS = 5000;

const { version: VERSION }: { version: string } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);

/** The SDK of AWS is loaded only by those who go there: it is larger than all the rest. */
const loadAws = () => import('./wiring-aws.ts');

async function openBackend(config: Config, onTrouble: (where: string, error: unknown) => void): Promise<Backend> {
  if (config.backend.kind === 'embedded') return openEmbeddedBackend(config, onTrouble);
  return (await loadAws()).openAwsBackend(config, config.backend, onTrouble);
}

export type Engine = Awaited<ReturnType<typeof openEngine>>;

/** A controller on its backend, open to workers. Worker processes of its own are started on demand. */
export async function openEngine(config: Config, log: Logger = openLog(config)) {
  // A worker that could not read them would end, and so would the one in its place.
  egressSettings(config);
  const catalog = catalogOf(await findScrapers(config));
  const { defaultScraper } = config;
  const events = new EventStream();
  const onError = (where: string, error: unknown) => events.publish({ kind: 'engine-error', where, error });
  const backend = await openBackend(config, onError);
  const { clock, ledger, queue, hostPauses, store, links } = backend;
  const faults = killFaults(config.faults, clock);
  const logs = [logEvents(events, log), logProgress(events, log, clock)];
  const controller = new Controller({ ...backend, faults, events, digest });
  const ready = workersReady(countWorkers(config));
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
  const numbers =
    config.metrics === 'emf' ? logNumbers(config, { events, clock, ledger, queue, controller: standing }) : null;
  // Behind our back: what a former process left of a large removal takes minutes.
  backend.sweep().catch((error: unknown) => onError('sweep', error));
  let pool: ReturnType<typeof startWorkerPool> | null = null;
  const processes = LANES.flatMap((lane) =>
    Array.from({ length: laneConfig(config, lane).workers }, () => workerOf(lane)),
  );
  /** Also those whose workers are being started. */
  const servedLanes = (): ReadonlySet<Lane> | null => {
    const joined = reception.lanes();
    return joined && new Set([...joined, ...(pool === null ? [] : processes.map(({ lane }) => lane))]);
  };
  let api: { drain(graceMs: number): Promise<void>; close(): Promise<void> } | null = null;

  return {
    clock,
    ledger,
    queue,
    store,
    events,
    submit: (request: unknown) => submitJob({ ledger, clock, catalog, digest, defaultScraper }, request, null),
    importItems: (jobId: string, chunks: AsyncIterable<readonly NewItem[]> | Iterable<readonly NewItem[]>) =>
      importItems({ ledger, clock, faults }, jobId, chunks),
    retry: (jobId: string, filter: RetryFilter) => retryItems({ ledger, clock }, jobId, filter),
    /** The REST API on this engine, until it stops; answers its address. */
    async listen(): Promise<string> {
      // Not before: a worker process has no use for it.
      const { startApi } = await import('./controller/api/start-api.ts');
      const parts = {
        ...{
          ledger,
          store,
          links,
          queue,
          hostPauses,
          clock,
          faults,
          digest,
          catalog,
          defaultScraper,
          servedLanes,
          events,
          version: VERSION,
          standing,
        },
        feedSettings: backend.feedSettings,
        onStorageTrouble: (message: string) => controller.storageTrouble(message),
      };
      const opened = await startApi(parts, config, log).catch(badAddress);
      api = opened;
      return opened.url;
    },
    /** Worker processes, kept at their number until the engine stops. */
    startWorkers() {
      if (pool === null) {
        pool = startWorkerPool({
          processes,
          command: process.execPath,
          env: { ...RETURN_LARGE_MEMORY, ...toEnvironment(config) },
          clock,
        });
        pool.onChange((change) => reception.heardOfChild(change));
      }
      return { ...pool, ready: ready.promise };
    },
    async stop() {
      // It goes on answering, with 503, until all else has stopped: a client learns that it may come back in a moment.
      await api?.drain(API_GRACE_MS);
      await controller.stop();
      // Workers give back or settle what they have, so the ledger must outlive them.
      await pool?.stop(config.drainGraceMs + 5000);
      await reception.close();
      await numbers?.close();
      await api?.close();
      await backend.close();
      for (const endLog of logs) endLog();
    },
  };
}

function logNumbers(
  { logTo }: Config,
  { events, clock, ...standing }: StandingSource & Pick<EmfParts, 'events' | 'clock'>,
) {
  const write = (line: string) => void process[logTo].write(`${line}\n`);
  return emfReporter({ events, clock, standing, write, everyMs: NUMBERS_EVERY_MS });
}

function workerOf(lane: Lane) {
  const main = fileURLToPath(new URL('cli/main.ts', import.meta.url));
  return { lane, args: [...process.execArgv, main, 'worker', '--lane', lane] };
}

function workersReady(count: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let joined = 0;
  return {
    promise,
    joined() {
      joined += 1;
      if (joined >= count) resolve();
    },
  };
}

export function egressSettings({ allowAddresses, routes, dnsServers }: Config) {
  return {
    rules: new AddressRules(setting('TRAWL_ALLOW_ADDRESSES', () => parseAddressRanges(allowAddresses))),
    routes: setting('TRAWL_ROUTES', () => parseRoutes(routes)),
    dnsServers: setting('TRAWL_DNS_SERVERS', () => parseDnsServers(dnsServers)),
  };
}

function setting<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new ConfigError(`${name}: ${errorMessage(error)}`);
  }
}

/** Nobody is to log these; should somebody do so all the same, they do not come out. */
const SECRET_FIELDS = [
  ...['authorization', '["x-api-key"]', 'cookie', '["proxy-authorization"]'].flatMap((name) => {
    const field = name.startsWith('[') ? `headers${name}` : `headers.${name}`;
    return [field, `*.${field}`];
  }),
  ...['apiKey', 'readApiKey', 'password', 'proxyUrl'].flatMap((name) => [name, `*.${name}`]),
];

export function openLog(config: Config): Logger {
  const destination = pino.destination(config.logTo === 'stderr' ? 2 : 1);
  return pino(
    {
      level: config.logLevel,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: SECRET_FIELDS,
    },
    destination,
  );
}

/** Items out of bytes, in the format that `file` has by its name; `name` is for the message if they make no sense. */
export async function* readItemsOf(bytes: AsyncIterable<Uint8Array>, name: string, file: string | null) {
  try {
    for await (const { items, bad } of readItems(bytes, file === null ? null : formatOfName(file))) {
      yield { items: items.map(({ item }) => item), bad };
    }
  } catch (error) {
    throw error instanceof UnreadableItems ? new ConfigError(`${name}: ${error.message}`) : error;
  }
}

/** A row per item of the job, in their order. */
export function rowsOf({ ledger, store }: Pick<Engine, 'ledger' | 'store'>, jobId: string) {
  return resultRows({ ledger, store }, jobId);
}

/** Checks a job by what lies in its results, in a data directory or a bucket, which somebody else may own. */
export async function verifyResults(config: Config, jobId: string): Promise<VerifyReport> {
  if (config.results.kind === 's3') {
    const { store, close } = (await import('./wiring-s3.ts')).openBucketResults(config.results.bucket, systemClock());
    return await verifyJob({ store, digest }, jobId).finally(close);
  }
  const store = await openFileResults(config);
  if (store === null) return { kind: 'nothing', message: `there are no results in ${config.dataDir}` };
  return await verifyJob({ store, digest }, jobId);
}

/** What can be said of the parts of an engine while it does not run, or somebody else runs it. */
export function inspect(config: Config) {
  const clock = systemClock();
  return {
    clock,
    /** Addresses of a name, asked for as workers do. */
    async resolveName(name: string): Promise<unknown> {
      const names = openNameLookup({ clock, servers: egressSettings(config).dnsServers });
      return await names.lookup(name).finally(() => names.close());
    },
    ledger: () => inspectLedger(config.dataDir),
    aws: async (aws: AwsBackendConfig, { create }: { readonly create: boolean }) =>
      (await loadAws()).examineAws(aws, { create, hasBucket: config.results.kind === 's3' }),
    scrapers: async () => (await findScrapers(config)).check(),
    /** Null if workers can go by what the settings say of it. */
    egressProblem(): string | null {
      try {
        egressSettings(config);
        return null;
      } catch (error) {
        return errorMessage(error);
      }
    },
  };
}

/** The scraper, or the ids that there are. Throws if there is one of that id which cannot be used. */
export async function findScraper(config: Config, id: string) {
  const scrapers = await findScrapers(config);
  const others = scrapers.list().flatMap((entry) => (entry.kind === 'known' ? [entry.summary.id] : []));
  return { scraper: await scrapers.find(id), others };
}

/** Scrapers to look at, to make and to try. Only a recording goes to the web, as one visitor who need not queue. */
export async function openScrapers(config: Config) {
  const clock = systemClock();
  const openTools = async () => {
    const { openWeb } = await import('./egress/open-web.ts');
    const web = openWeb({ ...egressSettings(config), clock });
    return { tools: { web, gate: OPEN_GATE, log: NO_LOG }, close: () => web.close() };
  };
  return await openWorkshop(scraperFolders(config), { clock, openTools }).catch(badFolder);
}

export function findScrapers(config: Config) {
  return loadScrapers(scraperFolders(config)).catch(badFolder);
}

/** Once each: whoever works on Trawl itself has the shipped ones in `./scrapers`. */
function scraperFolders(config: Config): readonly string[] {
  return [SHIPPED_SCRAPERS, ...config.scrapers.filter((folder) => !isSameFolder(folder, SHIPPED_SCRAPERS))];
}

function isSameFolder(folder: string, other: string): boolean {
  return existsSync(folder) && realpathSync(folder) === realpathSync(other);
}

/** To be asked before anything is opened: whether the API may be where the settings say. */
export function checkApiAddress(config: Config): void {
  try {
    checkListening(config);
  } catch (error) {
    badAddress(error);
  }
}

function badAddress(error: unknown): never {
  throw error instanceof RefusedToListen ? new ConfigError(error.message) : error;
}

function badFolder(error: unknown): never {
  throw error instanceof NoScraperFolder ? new ConfigError(`TRAWL_SCRAPERS: ${error.message}`) : error;
}
