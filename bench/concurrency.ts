import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../src/config.ts';
import { inFlightOf } from '../src/domain/counts.ts';
import { openEngine } from '../src/main/engine.ts';

/**
 * How soon a freed slot is filled again: a job that may have `limit` items in flight, each of which takes `ms`. At best it
 * runs at limit ÷ ms. The job is read after every event, and the most that was ever seen in flight is reported.
 */
export async function benchConcurrency(size: { items: number; workers: number; limit: number; ms: number }) {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-bench-'));
  const engine = await openEngine(loadConfig({ dataDir, workers: size.workers, logLevel: 'error' }));
  try {
    await engine.startWorkers().ready;
    const seen = { reads: 0, most: 0 };
    const completed = Promise.withResolvers<void>();
    engine.events.subscribe((event) => {
      if (event.kind === 'job' && event.because === 'complete') completed.resolve();
      void engine.ledger.job(JOB).then((job) => {
        seen.reads += 1;
        if (job !== null) seen.most = Math.max(seen.most, inFlightOf(job.counts));
      });
    });
    const begun = performance.now();
    const answer = await engine.submit({
      job_id: JOB,
      scraper_id: 'example-slow',
      items: Array.from({ length: size.items }, (_, index) => ({ item_id: `item-${index}`, input: { ms: size.ms } })),
      execution_policy: { throttling: { max_concurrent_workers: size.limit } },
    });
    if (answer.kind !== 'created') throw new Error(`the benchmark's job was not made: ${JSON.stringify(answer)}`);
    await completed.promise;
    const seconds = (performance.now() - begun) / 1000;
    return {
      items: size.items,
      limit: size.limit,
      item_ms: size.ms,
      items_per_second: Math.round(size.items / seconds),
      at_best: Math.round((size.limit / size.ms) * 1000),
      most_in_flight: seen.most,
      reads: seen.reads,
    };
  } finally {
    await engine.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const JOB = 'bench';
