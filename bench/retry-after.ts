import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/config.ts';
import { type Engine, openEngine } from '../src/main/engine.ts';

export interface RetryAfterSize {
  readonly items: number;
  readonly workers: number;
  /** Items in flight. */
  readonly limit: number;
  /** What an answer takes. */
  readonly pageMs: number;
}

/** By how much 1 % of refusals may lengthen a job. */
const ALLOWED_RATIO = 1.25;

/** One request in this many is refused. */
const EVERY = 100;

/**
 * What a few refusals cost: the same job at a site that answers everything, and at one that answers one request in a
 * hundred with a 503 and `Retry-After: 1`. The times are from submission to completion.
 */
export async function benchRetryAfter(size: RetryAfterSize, say: (line: string) => void) {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-bench-'));
  const scrapers = [fileURLToPath(new URL('./retry-after/scrapers', import.meta.url))];
  const settings = { dataDir, scrapers, workers: size.workers, logLevel: 'error', allowAddresses: 'loopback' } as const;
  const engine = await openEngine(loadConfig(settings));
  try {
    await engine.startWorkers().ready;
    await timeJob(engine, 'warm', { ...size, items: 20 }, false);
    const good = await timeJob(engine, 'good', size, false);
    say(`without refusals: ${seconds(good.ms)}`);
    const refused = await timeJob(engine, 'refused', size, true);
    say(`with 1 % of 503 and Retry-After: 1: ${seconds(refused.ms)}`);
    const ratio = refused.ms / good.ms;
    return {
      items: size.items,
      in_flight: size.limit,
      requests: refused.requests,
      refused: refused.refused,
      without: seconds(good.ms),
      with: seconds(refused.ms),
      ratio: Math.round(ratio * 100) / 100,
      allowed_ratio: ALLOWED_RATIO,
      ok: ratio <= ALLOWED_RATIO,
    };
  } finally {
    await engine.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function timeJob(engine: Engine, jobId: string, size: RetryAfterSize, refuses: boolean) {
  const site = await openSite(size.pageMs, refuses);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const begun = performance.now();
  const unsubscribe = engine.events.subscribe((event) => {
    if (event.kind !== 'job' || event.job.jobId !== jobId) return;
    if (event.because === 'complete' && event.job.counts.success === size.items) resolve(performance.now() - begun);
    else if (event.because === 'complete' || event.because === 'trip')
      reject(new Error(`${jobId}: of ${size.items} items ${event.job.counts.failed} failed`));
  });
  try {
    const answer = await engine.submit({
      job_id: jobId,
      scraper_id: 'bench-two-pages',
      items: Array.from({ length: size.items }, (_, number) => ({
        item_id: `item-${number}`,
        input: { base: site.base, number },
      })),
      execution_policy: { throttling: { max_concurrent_workers: size.limit } },
    });
    if (answer.kind !== 'created') throw new Error(`the benchmark's job was not made: ${JSON.stringify(answer)}`);
    return { ms: await promise, ...site.counts() };
  } finally {
    unsubscribe();
    await site.close();
  }
}

async function openSite(pageMs: number, refuses: boolean) {
  let requests = 0;
  let refused = 0;
  const server = createServer((request, response) => {
    requests += 1;
    const isRefused = refuses && requests % EVERY === EVERY / 2;
    if (isRefused) refused += 1;
    setTimeout(() => {
      if (isRefused) response.writeHead(503, { 'retry-after': '1' }).end('Busy');
      else response.setHeader('content-type', 'text/html').end(`<h1>${request.url?.split('/').at(-1)}</h1>`);
    }, pageMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts: () => ({ requests, refused }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
