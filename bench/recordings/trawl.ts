import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { type Engine, openEngine } from '../../src/main/engine.ts';
import { runJob } from '../http/run-job.ts';
import { runSubject, type Task } from '../http/subject.ts';

/** A recording, or the scraper that was written for the same county. */
export interface RecordingTask extends Task {
  readonly lane: 'http' | 'browser';
  readonly scraperId: string;
  readonly chromium: string;
}

let engine: Engine | null = null;

await runSubject<RecordingTask>(
  async (apns, task) => {
    engine ??= await startEngine(task);
    const policy = { throttling: { max_concurrent_workers: task.concurrency } };
    await runJob(engine, apns, { scraperId: task.scraperId, policy });
  },
  async () => engine?.stop(),
);

async function startEngine({ url, folder, lane, workers, concurrency, chromium }: RecordingTask): Promise<Engine> {
  const opened = await openEngine(
    loadConfig({
      ...{ dataDir: folder, workers, browserWorkers: workers, browserSlots: concurrency, chromium },
      hostConcurrency: concurrency,
      scrapers: [join(import.meta.dirname, 'scrapers'), join(import.meta.dirname, '..', '..', 'scrapers')],
      ...{ logLevel: 'error', logTo: 'stderr', allowAddresses: 'loopback' },
      routes: `http://demo-county.test=${url}`,
    }),
  );
  await opened.startWorkers([lane]).ready;
  return opened;
}
