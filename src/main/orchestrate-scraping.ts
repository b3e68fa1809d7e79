import { ConfigError, EMBEDDED, LOCAL_RESULTS, loadConfig } from '../config.ts';
import { etlProblem } from '../domain/etl-settings.ts';
import type { DistributionStrategy } from '../domain/items-to-sessions.ts';
import { policySchema } from '../domain/policy.ts';
import { DEFAULT_ITEMS_PER_SESSION, DEFAULT_SESSIONS, DEFAULT_STRATEGY, runPolicy } from '../domain/run-options.ts';
import type { FoundRun, RunService } from '../ports/run-service.ts';
import { type Engine, openEngine } from './engine.ts';
import { scraperForRun } from './etl-runs.ts';
import { configForRun, type RunPlace } from './run-config.ts';

export interface OrchestrateOptions {
  /** For a new run; not used if the domain has an active one. */
  readonly urls?: readonly string[];
  /** By default the scraper that has the domain among its hosts. */
  readonly scraperId?: string;
  readonly sessions?: number;
  readonly strategy?: DistributionStrategy;
  readonly maxItemsPerSession?: number;
  readonly provider?: NonNullable<RunPlace['provider']>;
  /** Fields of the execution policy. */
  readonly policy?: unknown;
  /** Stops it; the same call continues where it stopped. */
  readonly signal?: AbortSignal;
}

const LOOK_EVERY_MS = 200;

/**
 * Carries out the active run of a domain, or a new one, as `trawl runs start` does: with a service and workers of its own,
 * until the run is finalized. If its job was stopped by the breaker or cancelled, the run that is returned has no end.
 */
export async function orchestrateScraping(domain: string, options: OrchestrateOptions = {}): Promise<FoundRun> {
  const base = loadConfig({ backend: EMBEDDED, results: LOCAL_RESULTS, logTo: 'stderr' });
  const problem = etlProblem(base);
  if (problem !== null) throw new ConfigError(problem);
  const { sessions = DEFAULT_SESSIONS, provider, strategy = DEFAULT_STRATEGY, urls = [] } = options;
  const { maxItemsPerSession = DEFAULT_ITEMS_PER_SESSION, policy: given = {} } = options;
  const policy = runPolicy(policySchema.parse(given), given, sessions, maxItemsPerSession);
  const { id: scraperId, lane } = await scraperForRun(base, options.scraperId ?? null, domain);
  const config = configForRun(base, { domain, lane, sessions, ...(provider !== undefined && { provider }) });
  const engine = await openEngine(config);
  try {
    if ('problem' in engine.runService) throw new ConfigError(engine.runService.problem);
    const { service } = engine.runService;
    const started = await service.start({ domain, urls, scraperId, sessions, strategy, maxItemsPerSession, policy });
    if (started.kind === 'bad') throw new ConfigError(started.problem);
    if (started.kind === 'no-run') throw new ConfigError(`the domain ${domain} has no active run: give urls`);
    if (started.kind === 'starting') throw new Error(`another start of ${domain} is under way`);
    const { runId } = started.kind === 'nothing-pending' ? started : started.order;
    if (started.kind === 'busy' && isStopped(started.job?.status)) {
      await engine.ledger.changeJob(started.jobId, { kind: 'resume' }, engine.clock.now());
    }
    engine.startWorkers([lane]);
    await untilOver(engine, service, runId, options.signal);
    return (await service.find(runId)) ?? fail(`run ${runId} is gone`);
  } finally {
    await engine.stop();
  }
}

async function untilOver(engine: Engine, service: RunService, runId: string, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted) {
    const carried = (await service.list()).find(({ order }) => order.runId === runId);
    if (carried === undefined || isStopped(carried.job?.status)) return;
    await engine.clock.sleep(LOOK_EVERY_MS, signal);
  }
}

function isStopped(status: string | undefined): boolean {
  return status === 'failed' || status === 'paused';
}

function fail(message: string): never {
  throw new Error(message);
}
