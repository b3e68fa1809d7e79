import { fileURLToPath } from 'node:url';
import { type Config, toEnvironment } from '../config.ts';
import type { Lane } from '../domain/lane.ts';
import type { Clock } from '../ports/clock.ts';
import { startWorkerPool, type WorkerPool } from '../worker/pool.ts';

/**
 * For the C library's allocator: a large block goes back to the system when it is freed, always. By default it learns from
 * the first such blocks to keep them, and a worker that met a few large pages stays tens of megabytes larger. `bin/trawl`
 * and the image set the same value for their own process; it is repeated for workers of a process started by other means.
 */
const RETURN_LARGE_MEMORY = { MALLOC_MMAP_THRESHOLD_: '131072' };

/** Worker processes of this machine, kept at the number that the settings say. */
export function startChildWorkers(config: Config, lane: Lane, clock: Clock): WorkerPool {
  return startWorkerPool({
    count: config.workers,
    command: process.execPath,
    args: [...process.execArgv, fileURLToPath(new URL('./worker-child.ts', import.meta.url)), lane],
    env: { ...RETURN_LARGE_MEMORY, ...toEnvironment(config) },
    clock,
  });
}
