import { loadConfig } from '../../src/config.ts';
import { type Engine, openEngine } from '../../src/main/engine.ts';
import { runSubject, type Task } from '../http/subject.ts';

/** The engine as `trawl serve` runs it, given its lists by the API: this process is the controller. */
let started: { readonly engine: Engine; readonly api: string } | null = null;

await runSubject(
  async (pages, task) => {
    started ??= await start(task);
    await pullList(started, pages, task);
  },
  async () => started?.engine.stop(),
);

async function start({ url, folder, workers, concurrency }: Task) {
  const engine = await openEngine(
    loadConfig({
      ...{ dataDir: folder, workers, slots: Math.max(64, concurrency), hostConcurrency: concurrency },
      ...{ logLevel: 'error', logTo: 'stderr', allowAddresses: 'loopback', port: 0 },
    }),
  );
  await engine.startWorkers(['http']).ready;
  const api = await engine.listen();
  await send(`${api}/sites/docs`, 'PUT', { baseUrl: url, mode: 'fetch', content: { markdown: 'none' } });
  return { engine, api };
}

/** Measures from the submission of the list to the completion of its job in the ledger. */
async function pullList(
  { engine, api }: { engine: Engine; api: string },
  pages: readonly string[],
  { url, concurrency, workers }: Task,
): Promise<void> {
  const jobId = `bench-${pages.length}-${pages[0]}`;
  const completed = Promise.withResolvers<void>();
  const unsubscribe = engine.events.subscribe((event) => {
    if (event.kind === 'job' && event.job.jobId === jobId && event.because === 'complete') completed.resolve();
    if (event.kind === 'engine-error') console.error('engine error', event.where, event.error);
  });
  const urls = pages.map((page) => `${url}/guide/${page}`);
  const list = { urls, job_id: jobId, delay_ms: 0, max_containers: concurrency * workers };
  await send(`${api}/jobs/bulk`, 'POST', list);
  await completed.promise;
  unsubscribe();
  const { counts } = (await engine.ledger.job(jobId)) ?? {};
  if (counts?.success !== pages.length) throw new Error(`not every page was pulled: ${JSON.stringify(counts)}`);
}

async function send(url: string, method: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${url} answered ${answer.status}: ${await answer.text()}`);
}
