import { loadConfig } from '../../src/config.ts';
import { type Engine, openEngine } from '../../src/main/engine.ts';
import { runSubject, type Task } from './subject.ts';

/** The engine as `trawl serve` runs it: this process is the controller, and it starts the worker processes. */
let engine: Engine | null = null;

await runSubject(
  async (apns, task) => {
    engine ??= await startEngine(task);
    await runJob(engine, apns, task);
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

/** From the job handed in to its completion in the ledger. */
async function runJob({ submit, ledger, events }: Engine, apns: readonly string[], task: Task): Promise<void> {
  const jobId = `bench-${apns.length}-${apns[0]}`;
  const completed = Promise.withResolvers<void>();
  const unsubscribe = events.subscribe((event) => {
    if (event.kind === 'job' && event.job.jobId === jobId && event.because === 'complete') completed.resolve();
    if (event.kind === 'engine-error') console.error('engine error', event.where, event.error);
  });
  const answer = await submit({
    job_id: jobId,
    scraper_id: 'demo-parcel',
    items: apns.map((apn) => ({ item_id: apn, input: { apn } })),
    execution_policy: { throttling: { max_concurrent_workers: task.concurrency * task.workers } },
  });
  if (answer.kind !== 'created') throw new Error(`the job was not made: ${JSON.stringify(answer)}`);
  await completed.promise;
  unsubscribe();
  const { counts } = (await ledger.job(jobId)) ?? {};
  if (counts?.success !== apns.length) throw new Error(`not every page was scraped: ${JSON.stringify(counts)}`);
}
