import { ConfigError, EMBEDDED, LOCAL_RESULTS, loadConfig } from '../config.ts';
import { startRunSchema } from '../contract/run-requests.ts';
import { etlProblem } from '../domain/etl-settings.ts';
import type { DistributionStrategy } from '../domain/items-to-sessions.ts';
import { runPolicy } from '../domain/run-options.ts';
import type { FoundRun, RunService } from '../ports/run-service.ts';
import { type Engine, openEngine } from './engine.ts';
import { scraperForRun } from './etl-runs.ts';
import { alreadyCarriedOut, configForRun, type RunPlace } from './run-config.ts';

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
  const { provider, policy: given = {} } = options;
  const {
    urls,
    sessions,
    strategy,
    max_items_per_session: maxItemsPerSession,
    execution_policy,
  } = checked(domain, options);
  const policy = runPolicy(execution_policy, given, sessions, maxItemsPerSession);
  const { id: scraperId, lane } = await scraperForRun(base, options.scraperId ?? null, domain);
  const config = configForRun(base, { domain, lane, sessions, ...(provider !== undefined && { provider }) });
  const engine = await openEngine(config).catch((error: unknown) => {
    const busy = alreadyCarriedOut(error, domain);
    throw busy === null ? error : new Error(busy, { cause: error });
  });
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

/** The same rules as in `POST /runs`. Throws ConfigError. */
function checked(domain: string, { urls, sessions, strategy, maxItemsPerSession, policy }: OrchestrateOptions) {
  const request = { domain, urls, sessions, strategy, max_items_per_session: maxItemsPerSession };
  const parsed = startRunSchema.safeParse({ ...request, execution_policy: policy });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new ConfigError(`the run cannot be carried out: ${problems.join('; ')}`);
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
