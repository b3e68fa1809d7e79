import { startWorkerPool } from '../../src/worker/pool.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** A process with a pool, to be killed. */
const args = [process.argv[2] ?? '', 'stubborn'];
startWorkerPool({ count: 2, command: process.execPath, args, env: process.env, clock: new FakeClock() });
