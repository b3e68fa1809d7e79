import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import { EmbeddedWorkQueue } from '../../src/adapters/embedded/work-queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { resultStoreContract } from './result-store-contract.ts';
import { workQueueContract } from './work-queue-contract.ts';

resultStoreContract('files', async () => {
  const root = await mkdtemp(join(tmpdir(), 'trawl-results-'));
  const store = await openFileResultStore(root, { clock: new FakeClock() });
  return { store, close: () => rm(root, { recursive: true }) };
});

workQueueContract('embedded', async () => {
  const clock = new FakeClock();
  return { queue: new EmbeddedWorkQueue(clock), advance: (ms) => clock.advance(ms), close() {} };
});
