import { fileURLToPath } from 'node:url';
import { type Config, laneConfig, toEnvironment } from '../config.ts';
import { LANES } from '../domain/lane.ts';
import type { Clock } from '../ports/clock.ts';
import { type PoolProcess, startWorkerPool, type WorkerPool } from '../worker/pool.ts';

/**
 * For the C library's allocator: a freed large block always goes back to the system. By default it learns from the
 * first such blocks to keep them, and a worker that met a few large pages stays tens of megabytes larger. `bin/trawl`
 * and the image set the same value for their own process; it is repeated for workers of a process started by other
 * means.
 */
const RETURN_LARGE_MEMORY = { MALLOC_MMAP_THRESHOLD_: '131072' };

/**
 * The young generation of a worker, in MB. A page that is parsed and converted is about a megabyte of small objects, which
 * are garbage a moment later; with the 8 MB of a controller there was a collection for every seventh of them.
 */
const YOUNG_MB = 32;
const YOUNG = '--max-semi-space-size=';

/** The worker processes that the settings ask for, of each lane. */
export function plannedWorkers(config: Config): readonly PoolProcess[] {
  const entry = fileURLToPath(new URL('./worker-child.ts', import.meta.url));
  const inherited = process.execArgv.filter((flag) => !flag.startsWith(YOUNG));
  return LANES.flatMap((lane) =>
    Array.from({ length: laneConfig(config, lane).workers }, () => ({
      lane,
      args: [...inherited, `${YOUNG}${YOUNG_MB}`, entry, lane],
    })),
  );
}

/** Worker processes of this machine, kept running. */
export function startChildWorkers(config: Config, processes: readonly PoolProcess[], clock: Clock): WorkerPool {
  const env = { ...RETURN_LARGE_MEMORY, ...toEnvironment(config) };
  return startWorkerPool({ processes, command: process.execPath, env, clock });
}
