import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../src/config.ts';
import { finishedOf } from '../src/domain/counts.ts';
import type { NewItem } from '../src/domain/item.ts';
import { type Engine, openEngine } from '../src/main/engine.ts';
import { MemoryWatch, memoryOf } from './memory.ts';
import { cpuSecondsOfProcess } from './process-tree.ts';
import { timeReads } from './reads.ts';

/**
 * No-op items through the whole engine: import, dispatch, worker processes, settle, completion, manifests. The rate is
 * items over the time of all of it, from the first item handed in to the manifest on the disk.
 */
export async function benchEngine(
  size: { items: number; workers: number; concurrency: number },
  say: (line: string) => void,
) {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-bench-'));
  const config = loadConfig({
    dataDir,
    workers: size.workers,
    slots: Math.max(64, size.concurrency),
    logLevel: 'error',
  });
  const engine = await openEngine(config);
  try {
    const pool = engine.startWorkers();
    await pool.ready;
    const memory = new MemoryWatch();
    const sample = async () => {
      const job = await engine.ledger.job(JOB);
      memory.sample(job === null ? 0 : finishedOf(job.counts), pool.pids());
    };

    const smallReads = await readsAtTenThousand(engine);
    const cpu = measureCpu(size.items, pool.pids());
    const begun = performance.now();
    await submit(engine, JOB, size.concurrency);
    await engine.importItems(JOB, generateItems(size.items));
    const importedAt = performance.now();
    say(`imported ${size.items} items in ${seconds(importedAt - begun)}`);

    const sampler = setInterval(() => void sample(), 1000);
    const finished = untilFinished(engine, JOB);
    await engine.ledger.changeJob(JOB, { kind: 'start' }, Date.now());
    const { finishedAt, manifestAt } = await finished;
    clearInterval(sampler);
    await sample();
    const used = cpu();
    say(`ran in ${seconds(finishedAt - importedAt)}, manifests in ${seconds(manifestAt - finishedAt)}`);

    const reads = await timeReads(engine.ledger, JOB, size.items);
    const job = await engine.ledger.job(JOB);
    return {
      items: size.items,
      workers: size.workers,
      concurrency: size.concurrency,
      succeeded: job?.counts.success ?? 0,
      items_per_second: Math.round(size.items / ((manifestAt - begun) / 1000)),
      import_per_second: Math.round(size.items / ((importedAt - begun) / 1000)),
      run_per_second: Math.round(size.items / ((finishedAt - importedAt) / 1000)),
      manifest_seconds: Math.round((manifestAt - finishedAt) / 10) / 100,
      ...used,
      peak_rss_mb: memory.peakMb,
      controller_peak_rss_mb: memoryOf(process.pid)?.peakMb ?? 0,
      rss_over_the_run: quartiles(memory.samples),
      db_bytes: databaseBytes(dataDir),
      ...reads,
      at_10_thousand: smallReads,
    };
  } finally {
    await engine.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const JOB = 'bench';
const SMALL = 'bench-10k';

async function readsAtTenThousand(engine: Engine) {
  await submit(engine, SMALL, 100);
  await engine.importItems(SMALL, generateItems(10_000));
  const finished = untilFinished(engine, SMALL);
  await engine.ledger.changeJob(SMALL, { kind: 'start' }, Date.now());
  await finished;
  return timeReads(engine.ledger, SMALL, 10_000);
}

async function submit(engine: Engine, jobId: string, concurrency: number): Promise<void> {
  const answer = await engine.submit({
    job_id: jobId,
    scraper_id: 'example-noop',
    hold: true,
    execution_policy: { throttling: { max_concurrent_workers: concurrency } },
  });
  if (answer.kind !== 'created') throw new Error(`the benchmark's job was not made: ${JSON.stringify(answer)}`);
}

function* generateItems(count: number): Generator<NewItem[]> {
  const CHUNK = 10_000;
  for (let first = 0; first < count; first += CHUNK) {
    const length = Math.min(CHUNK, count - first);
    yield Array.from({ length }, (_, index) => {
      const number = first + index;
      // Ids are in no order, like parcel numbers.
      const parcel = ((number * 2_654_435_761) % 4_294_967_296).toString(36);
      return { itemId: `parcel-${parcel}-${number}`, input: { apn: `200-14-${number}`, county: 'demo' } };
    });
  }
}

async function untilFinished(engine: Engine, jobId: string): Promise<{ finishedAt: number; manifestAt: number }> {
  const { promise, resolve } = Promise.withResolvers<{ finishedAt: number; manifestAt: number }>();
  let finishedAt = 0;
  const unsubscribe = engine.events.subscribe((event) => {
    if (event.kind === 'job' && event.job.jobId === jobId && event.because === 'finish') {
      finishedAt = performance.now();
    }
    if (event.kind === 'manifest-written' && event.jobId === jobId) {
      resolve({ finishedAt, manifestAt: performance.now() });
    }
    if (event.kind === 'engine-error') console.error('engine error', event.where, event.error);
  });
  return promise.finally(unsubscribe);
}

/** CPU time is what a busy machine changes least: its rates depend on what else is running, these figures hardly do. */
function measureCpu(items: number, workers: readonly number[]) {
  const controller = () => cpuSecondsOfProcess(process.pid);
  const others = () => workers.reduce((sum, pid) => sum + cpuSecondsOfProcess(pid), 0);
  const before = { controller: controller(), others: others() };
  const perItem = (seconds: number) => Math.round((seconds * 1e7) / items) / 10;
  return () => ({
    controller_cpu_us_per_item: perItem(controller() - before.controller),
    workers_cpu_us_per_item: perItem(others() - before.others),
  });
}

/** Five points of the run, which show whether memory grows with it. */
function quartiles<T>(samples: readonly T[]): T[] {
  const last = samples.length - 1;
  return [0, 0.25, 0.5, 0.75, 1].flatMap((share) => samples[Math.round(share * last)] ?? []);
}

function databaseBytes(dataDir: string): number {
  return statSync(join(dataDir, 'ledger.db')).size;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
