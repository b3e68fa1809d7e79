import { startWorkerPool } from '../../src/worker/pool.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** A process with a pool, to be killed. */
const args = [process.argv[2] ?? '', 'stubborn'];
const one = { lane: 'http', args } as const;
startWorkerPool({ processes: [one, one], command: process.execPath, env: process.env, clock: new FakeClock() });
