import type { EventStream } from '../engine/events.ts';
import { ChangeBook } from '../extraction/changes.ts';
import { JobFeeds, type JobFeedsSettings } from '../feed/job-feeds.ts';
import { RateBook } from '../feed/rate-book.ts';
import { openMetrics } from '../metrics/open-metrics.ts';
import { allowedHosts, parseKeys } from './access.ts';
import { checkListening, RefusedToListen } from './listening.ts';
import type { Operation } from './operation.ts';
import type { ApiParts, ReadyCheck } from './parts.ts';
import { documentOperations } from './routes/documents.ts';
import { extractionOperations } from './routes/extraction.ts';
import { hostOperations } from './routes/hosts.ts';
import { itemOperations } from './routes/items.ts';
import { jobOperations } from './routes/jobs.ts';
import { resultOperations } from './routes/results.ts';
import { serviceOperations } from './routes/service.ts';
import { buildServer, type ServerLog } from './server.ts';

export interface ApiSettings {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly apiKey: string | null;
  readonly readApiKey: string | null;
  readonly allowedHosts: readonly string[];
  readonly maxBodyBytes: number;
}

export function allOperations(parts: ApiParts): readonly Operation[] {
  const own = [
    ...jobOperations(parts),
    ...itemOperations(parts),
    ...resultOperations(parts),
    ...extractionOperations(parts),
    ...hostOperations(parts),
    ...serviceOperations(parts),
  ];
  return [...own, ...documentOperations(own, parts.version)];
}

/** Listens until it is closed. It is told to stop before, and answers 503 until the rest of the process has stopped. */
async function serveApi(
  parts: ApiParts,
  settings: ApiSettings,
  log: ServerLog,
  onStorageTrouble: (message: string) => void,
) {
  checkListening(settings);
  const keys = parseKeys(settings.apiKey, settings.readApiKey);
  const { app, stopTaking, cutOff } = buildServer({
    operations: allOperations(parts),
    keys,
    hosts: allowedHosts({ host: settings.host, names: settings.allowedHosts, hasKeys: !keys.isEmpty }),
    clock: parts.clock,
    log,
    onStorageTrouble,
    observe: (...request) => parts.metrics.observeRequest(...request),
  });
  await app.listen({ host: settings.host, port: settings.port }).catch((error: unknown) => {
    throw listenTrouble(error, settings);
  });
  const address = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : settings.port;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return {
    url: `http://${host}:${port}`,
    /** Streams of events are ended, what is being answered gets `graceMs`, and what is new is answered with 503. */
    async drain(graceMs: number): Promise<void> {
      const ended = new AbortController();
      const ending = stopTaking().finally(() => ended.abort());
      await parts.feeds.close();
      await Promise.race([ending, parts.clock.sleep(graceMs, ended.signal)]);
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

export interface StartApiParts
  extends Omit<ApiParts, 'feeds' | 'rates' | 'metrics' | 'changes' | 'checks' | 'log' | 'maxBodyBytes'> {
  readonly events: EventStream;
  /** What is other than usual for those who watch a job. */
  readonly feedSettings?: Partial<JobFeedsSettings>;
  readonly onStorageTrouble: (message: string) => void;
  readonly standing: () => { readonly isLeading: boolean; readonly storageProblem: string | null };
}

/** The API on an engine: with what only the API needs of it. */
export async function startApi(engine: StartApiParts, settings: ApiSettings, log: ServerLog) {
  const { events, ledger, queue, clock, version } = engine;
  const rates = new RateBook({ events, clock });
  const feeds = new JobFeeds({ events, ledger, rates, clock, settings: engine.feedSettings ?? {} });
  const metrics = openMetrics({ events, ledger, queue, clock, version, watchers: () => feeds.watchers });
  const onError = (where: string, error: unknown) => events.publish({ kind: 'engine-error', where, error });
  const changes = new ChangeBook({ ...engine, onError });
  const checks = async () => checksOf(engine.standing());
  const server = await serveApi(
    { ...engine, rates, feeds, metrics, changes, checks, log, maxBodyBytes: settings.maxBodyBytes },
    settings,
    log,
    engine.onStorageTrouble,
  );
  return {
    url: server.url,
    drain: (graceMs: number) => server.drain(graceMs),
    /** After a drain. */
    async close(): Promise<void> {
      await server.close();
      await changes.close();
      metrics.close();
      rates.close();
    },
  };
}

function checksOf({ isLeading, storageProblem }: ReturnType<StartApiParts['standing']>): readonly ReadyCheck[] {
  return [
    { name: 'leading', ok: isLeading, message: isLeading ? null : 'another controller leads, or none does yet' },
    { name: 'storage', ok: storageProblem === null, message: storageProblem },
  ];
}

function listenTrouble(error: unknown, { host, port }: ApiSettings): Error {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'EADDRINUSE')
    return new RefusedToListen(`port ${port} of ${host} is in use: choose another with --port`);
  if (code === 'EACCES')
    return new RefusedToListen(`port ${port} of ${host} is not for this user: choose one above 1023`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new RefusedToListen(`this machine has no address ${host}`);
  return error instanceof Error ? error : new Error(String(error));
}
