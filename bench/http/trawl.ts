import { loadConfig } from '../../src/config.ts';
import { type Engine, openEngine } from '../../src/main/engine.ts';
import { runJob } from './run-job.ts';
import { runSubject, type Task } from './subject.ts';

/** The engine as `trawl serve` runs it: this process is the controller, and it starts the worker processes. */
let engine: Engine | null = null;

await runSubject(
  async (apns, task) => {
    engine ??= await startEngine(task);
    const policy = { throttling: { max_concurrent_workers: task.concurrency * task.workers } };
    await runJob(engine, apns, { scraperId: 'demo-parcel', policy });
  },
  async () => engine?.stop(),
);

async function startEngine({ url, folder, workers, concurrency }: Task): Promise<Engine> {
  const opened = await openEngine(
    loadConfig({
      dataDir: folder,
      workers,
      slots: Math.max(64, concurrency),
      hostConcurrency: concurrency,
      logLevel: 'error',
      logTo: 'stderr',
      allowAddresses: 'loopback',
      routes: `http://demo-county.test=${url}`,
    }),
  );
  await opened.startWorkers().ready;
  return opened;
}
