import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { type Engine, openEngine } from '../../src/main/engine.ts';
import { runJob } from '../http/run-job.ts';
import { runSubject } from '../http/subject.ts';
import type { BrowserTask } from './subject.ts';

/** The engine as `trawl serve` runs it, with one worker process of the lane `browser` and everything else by default. */
let engine: Engine | null = null;

await runSubject<BrowserTask>(
  async (apns, task) => {
    engine ??= await startEngine(task);
    const { concurrency, isolation } = task;
    const policy = { throttling: { max_concurrent_workers: concurrency }, browser: { isolation } };
    await runJob(engine, apns, { scraperId: 'bench-profile', policy });
  },
  async () => engine?.stop(),
);

async function startEngine({ url, folder, concurrency, chromium }: BrowserTask): Promise<Engine> {
  const opened = await openEngine(
    loadConfig({
      dataDir: folder,
      browserWorkers: 1,
      browserSlots: concurrency,
      hostConcurrency: concurrency,
      chromium: chromium.path,
      scrapers: [join(import.meta.dirname, 'scrapers')],
      logLevel: 'error',
      logTo: 'stderr',
      allowAddresses: 'loopback',
      routes: `http://demo-county.test=${url}`,
    }),
  );
  await opened.startWorkers(['browser']).ready;
  return opened;
}
