import { systemClock } from '../adapters/system/clock.ts';
import { ConfigError, loadConfig } from '../config.ts';
import { etlProblem } from '../domain/etl-settings.ts';
import { EtlClient } from '../runs/etl/etl-client.ts';
import type { EtlSettings } from '../runs/etl/etl-request.ts';
import type { SessionManagerOptions } from '../runs/public.ts';
import { RunManager } from '../runs/run-manager.ts';
import { SessionManager } from '../sessions/session-manager.ts';
import { openProvider } from './browsers.ts';
import { openLog } from './log.ts';

export { EtlTrouble } from '../ports/run-service.ts';
/** What programs import as `trawl/runs`. Anything not exported here may change without notice. */
export * from '../runs/public.ts';
export { type OrchestrateOptions, orchestrateScraping } from './orchestrate-scraping.ts';
export type { EtlClient, RunManager };

const OPEN_MS = 60_000;

/** A client of the ETL API. What is not given comes from `ETL_API_ENDPOINT` and `ETL_API_KEY`. */
export function openEtlClient({ endpoint, apiKey }: Partial<EtlSettings> = {}): EtlClient {
  const config = loadConfig({
    logTo: 'stderr',
    ...(endpoint !== undefined && { etlApiEndpoint: endpoint }),
    ...(apiKey !== undefined && { etlApiKey: apiKey }),
  });
  const problem = etlProblem(config);
  if (problem !== null) throw new ConfigError(problem);
  const settings = { endpoint: config.etlApiEndpoint, apiKey: config.etlApiKey };
  return new EtlClient({ ...settings, clock: systemClock(), log: openLog(config) });
}

/** The life of runs in that API. */
export function openRunManager(etl: EtlClient = openEtlClient()): RunManager {
  return new RunManager(etl, systemClock());
}

/**
 * Browsers for a program of its own. They go out directly: the address rules, politeness and proxies of jobs are not
 * theirs.
 */
export function openSessionManager({
  provider,
  maxSessions,
  sessionTimeout,
}: SessionManagerOptions = {}): SessionManager {
  const config = loadConfig();
  const clock = systemClock();
  return new SessionManager({
    ...{ provider: openProvider(config, clock, provider), clock },
    browser: { headless: !config.browserHeaded, slowMs: 0, args: [], openMs: OPEN_MS, proxy: null, metadata: {} },
    ...(maxSessions !== undefined && { maxSessions }),
    ...(sessionTimeout !== undefined && { sessionTimeout }),
  });
}
