import type { Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { errorCode } from '../../domain/error-code.ts';
import type { EventStream } from '../engine/events.ts';
import { ChangeBook } from '../extraction/changes.ts';
import { Comparisons } from '../extraction/comparisons.ts';
import { JobFeeds, type JobFeedsSettings } from '../feed/job-feeds.ts';
import { RateBook } from '../feed/rate-book.ts';
import { RunFeeds } from '../feed/run-feeds.ts';
import type { Metrics } from '../metrics/open-metrics.ts';
import { allowedHosts, parseKeys } from './access.ts';
import type { ApiDeps, ReadyCheck } from './api-deps.ts';
import { checkListening, RefusedToListen } from './listening.ts';
import type { Operation } from './operation.ts';
import { bulkOperation } from './routes/bulk.ts';
import { cacheOperations } from './routes/cache.ts';
import { carriedRunOperations } from './routes/carried-runs.ts';
import { complianceOperation } from './routes/compliance.ts';
import { createJobOperation } from './routes/create-job.ts';
import { discoverOperation } from './routes/discover.ts';
import { documentOperations } from './routes/documents.ts';
import { eventOperations } from './routes/events.ts';
import { extractionOperations } from './routes/extraction.ts';
import { hostOperations } from './routes/hosts.ts';
import { itemOperations } from './routes/items.ts';
import { jobOperations } from './routes/jobs.ts';
import { metricsOperation } from './routes/metrics.ts';
import { planOperations } from './routes/plans.ts';
import { resultOperations } from './routes/results.ts';
import { runEventsOperation } from './routes/run-events.ts';
import { runItemOperations } from './routes/run-items.ts';
import { runOperations } from './routes/runs.ts';
import { scraperOperations } from './routes/scrapers.ts';
import { serviceOperations } from './routes/service.ts';
import { sitePageOperations } from './routes/site-pages.ts';
import { siteOperations } from './routes/sites.ts';
import { steerJobOperations } from './routes/steer-job.ts';
import { buildServer, type ServerLog } from './server.ts';

export interface ApiSettings {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly apiKey: string | null;
  readonly readApiKey: string | null;
  readonly allowedHosts: readonly string[];
  readonly maxBodyBytes: number;
  /**
   * For the service of a single command: makes the server listen where no other user can reach it, instead of on host
   * and port. Metrics and documentation are left out, because loading them takes time.
   */
  readonly listenPrivately?: (server: Server) => Promise<void>;
}

function allOperations(deps: ApiDeps, metrics: Metrics | null): readonly Operation[] {
  const own = [
    createJobOperation(deps),
    bulkOperation(deps),
    ...jobOperations(deps),
    ...planOperations(deps),
    ...steerJobOperations(deps),
    ...eventOperations(deps),
    ...itemOperations(deps),
    ...resultOperations(deps),
    ...extractionOperations(deps),
    complianceOperation(deps),
    ...hostOperations(deps),
    ...siteOperations(deps),
    ...sitePageOperations(deps),
    discoverOperation(deps),
    ...cacheOperations(deps),
    ...runOperations(deps),
    ...runItemOperations(deps),
    runEventsOperation(deps),
    ...scraperOperations(deps),
    ...carriedRunOperations(deps),
    ...serviceOperations(deps),
  ];
  if (metrics === null) return own;
  const all = [...own, metricsOperation(metrics)];
  return [...all, ...documentOperations(all, deps.version)];
}

/** Listens until it is closed. Between `drain` and `close` it answers 503. */
async function serveApi(
  deps: ApiDeps,
  metrics: Metrics | null,
  settings: ApiSettings,
  log: ServerLog,
  onStorageTrouble: (message: string) => void,
) {
  checkListening(settings);
  const keys = parseKeys(settings.apiKey, settings.readApiKey);
  const { app, stopTaking, cutOff } = buildServer({
    operations: allOperations(deps, metrics),
    keys,
    hosts: allowedHosts({ host: settings.host, names: settings.allowedHosts, hasKeys: !keys.isEmpty }),
    clock: deps.clock,
    log,
    onStorageTrouble,
    observe: (...request) => metrics?.observeRequest(...request),
  });
  return {
    url: await listen(app, settings),
    /** Ends event streams, gives running requests `graceMs`, and answers new ones with 503. */
    async drain(graceMs: number): Promise<void> {
      const ended = new AbortController();
      const ending = stopTaking().finally(() => ended.abort());
      await Promise.all([deps.feeds.close(), deps.runFeeds.close()]);
      await Promise.race([ending, deps.clock.sleep(graceMs, ended.signal)]);
      if (!ended.signal.aborted) cutOff();
      await ending;
    },
    async close(): Promise<void> {
      const closing = app.close();
      app.server.closeAllConnections();
      await closing;
    },
  };
}

/** Returns the address to use. */
async function listen(app: FastifyInstance, settings: ApiSettings): Promise<string> {
  if (settings.listenPrivately !== undefined) {
    await app.ready();
    await settings.listenPrivately(app.server);
    return 'http://localhost';
  }
  await app.listen({ host: settings.host, port: settings.port }).catch((error: unknown) => {
    throw listenTrouble(error, settings);
  });
  const address = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : settings.port;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return `http://${host}:${port}`;
}

interface StartApiDeps
  extends Omit<
    ApiDeps,
    'feeds' | 'runFeeds' | 'rates' | 'changes' | 'comparisons' | 'checks' | 'log' | 'maxBodyBytes'
  > {
  readonly events: EventStream;
  /** Overrides of the default feed settings. */
  readonly feedSettings?: Partial<JobFeedsSettings>;
  readonly onStorageTrouble: (message: string) => void;
  readonly standing: () => { readonly isLeading: boolean; readonly storageProblem: string | null };
}

/** Starts the API and everything that only the API needs. */
export async function startApi(engine: StartApiDeps, settings: ApiSettings, log: ServerLog) {
  const { events, ledger, queue, clock, itemWaits, stepRecords, version } = engine;
  const rates = new RateBook({ events, clock });
  const parts = { events, ledger, rates, itemWaits, stepRecords, clock };
  const feeds = new JobFeeds({ ...parts, settings: engine.feedSettings ?? {} });
  const onError = (where: string, error: unknown) => events.publish({ kind: 'engine-error', where, error });
  const runFeeds = new RunFeeds({
    ...{ runs: engine.runs, clock, settings: engine.feedSettings ?? {} },
    onError: (error) => onError('scrape run feed', error),
  });
  const watchers = () => feeds.watchers + runFeeds.watchers;
  const metrics =
    settings.listenPrivately === undefined
      ? (await import('../metrics/open-metrics.ts')).openMetrics({ events, ledger, queue, clock, version, watchers })
      : null;
  const changes = new ChangeBook({ ...engine, onError });
  const comparisons = new Comparisons({ ...engine, onError });
  const checks = async () => checksOf(engine.standing());
  const server = await serveApi(
    { ...engine, rates, feeds, runFeeds, changes, comparisons, checks, log, maxBodyBytes: settings.maxBodyBytes },
    metrics,
    settings,
    log,
    engine.onStorageTrouble,
  );
  return {
    url: server.url,
    drain: (graceMs: number) => server.drain(graceMs),
    /** Called after a drain. */
    async close(): Promise<void> {
      await server.close();
      await Promise.all([changes.close(), comparisons.close()]);
      metrics?.close();
      rates.close();
    },
  };
}

function checksOf({ isLeading, storageProblem }: ReturnType<StartApiDeps['standing']>): readonly ReadyCheck[] {
  return [
    { name: 'leading', ok: isLeading, message: isLeading ? null : 'another controller is the leader, or none is yet' },
    { name: 'storage', ok: storageProblem === null, message: storageProblem },
  ];
}

function listenTrouble(error: unknown, { host, port }: ApiSettings): Error {
  const code = errorCode(error);
  if (code === 'EADDRINUSE')
    return new RefusedToListen(`port ${port} of ${host} is in use: choose another with --port`);
  if (code === 'EACCES')
    return new RefusedToListen(`no permission to listen on port ${port} of ${host}: choose one above 1023`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new RefusedToListen(`${host} is not an address of this machine`);
  return error instanceof Error ? error : new Error(String(error));
}
