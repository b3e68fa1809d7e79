import { join } from 'node:path';
import { DataDirInUse } from '../adapters/embedded/owner-lock.ts';
import { type Config, EMBEDDED, LOCAL_RESULTS, laneConfig, loadConfig, settingsInForce } from '../config.ts';
import { safeSegment } from '../domain/artifact.ts';
import type { Lane } from '../domain/lane.ts';
import { digest } from './digest.ts';

export interface RunPlace {
  readonly domain: string;
  /** The kind of workers that its scraper needs. */
  readonly lane: Lane;
  readonly sessions: number;
  readonly provider?: Config['browserProvider'];
}

/** What to say if the folder of a domain is in use: its run is being carried out. Null for any other error. */
export function alreadyCarriedOut(error: unknown, domain: string): string | null {
  if (!(error instanceof DataDirInUse)) return null;
  return `a run of ${domain} is already being carried out here, by process ${error.pid}; nothing was started`;
}

/**
 * The settings of a service that carries out one run, here and now. Each domain has a folder of its own, so that runs of
 * several can be carried out at the same time.
 */
export function configForRun(base: Config, { domain, lane, sessions, provider }: RunPlace): Config {
  const isLevelChosen = settingsInForce(base).some(
    ({ name, from }) => name === 'TRAWL_LOG_LEVEL' && from !== 'default',
  );
  return loadConfig({
    ...{ backend: EMBEDDED, results: LOCAL_RESULTS, logTo: 'stderr' },
    dataDir: join(base.dataDir, 'runs', safeSegment(domain, digest)),
    logLevel: isLevelChosen ? base.logLevel : 'warn',
    // One process has all browsers, one for each session.
    ...(lane === 'browser'
      ? { browserWorkers: 1, browserSlots: sessions, browserSessions: sessions }
      : { workers: Math.min(sessions, laneConfig(base, lane).workers), browserWorkers: 0 }),
    ...(provider !== undefined && { browserProvider: provider }),
  });
}
