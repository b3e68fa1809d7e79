import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../src/config.ts';
import { type Engine, openEngine } from '../src/main/engine.ts';
import { type NameServer, openNameServer } from './starvation/name-server.ts';
import { openHangingSite, openHealthySite, type Site } from './starvation/sites.ts';

export interface StarvationSize {
  readonly workers: number;
  /** Items of the job that hangs, all of which may be in flight. */
  readonly hanging: number;
  /** Hosts they are spread over: with one, most wait at its gate. */
  readonly hosts: number;
  /** If above 0, the neighbour is a job of this many items whose host names never get an answer. */
  readonly deadDns: number;
  readonly jobs: number;
  readonly items: number;
  readonly pageMs: number;
}

/** By how much the time beside the hanging job may exceed the time alone. */
const ALLOWED_RATIO = 2;

/** Items of a small job that are in flight at a time: what a job gets by default. */
const CONCURRENCY = 3;

/**
 * Whether a job that hangs holds up others: small jobs, each of a site of its own, run one by one, and then all together
 * beside a job that had taken all that it could get before they came. The times are from submission to completion.
 */
export async function benchStarvation(size: StarvationSize, say: (line: string) => void) {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-bench-'));
  const sites = await Promise.all(
    Array.from({ length: size.jobs }, (_, index) => openHealthySite(`127.0.1.${index + 1}`, size.pageMs)),
  );
  const hangingSite = await openHangingSite();
  const names = await openNameServer(new Map(sites.map(({ address }, index) => [nameOf(index), address])));
  const settings = { dataDir, workers: size.workers, logLevel: 'error', allowAddresses: 'loopback' } as const;
  const engine = await openEngine(
    loadConfig({ ...settings, drainGraceMs: 0 }, size.deadDns > 0 ? { TRAWL_DNS_SERVERS: names.address } : {}),
  );
  try {
    await engine.startWorkers().ready;
    const bases = sites.map(({ address, port }, index) => `${size.deadDns > 0 ? nameOf(index) : address}:${port}`);
    await Promise.all(bases.map((base, index) => timeJob(engine, `warm-${index}`, base, size.items)));
    const alone: number[] = [];
    for (const [index, base] of bases.entries()) {
      alone.push(await timeJob(engine, `alone-${index}`, base, size.items));
    }
    say(`${size.jobs} small jobs ran alone`);
    await (size.deadDns > 0 ? beginDeadNames(engine, size.deadDns) : beginHanging(engine, size, hangingSite));
    const neighbour = await engine.ledger.job(NEIGHBOUR);
    say(`the neighbour has ${neighbour?.counts.inProgress} at work and ${neighbour?.counts.queued} queued`);
    const beside = await Promise.all(bases.map((base, index) => timeJob(engine, `beside-${index}`, base, size.items)));
    return report(size, alone, beside, names, await engine.ledger.job(NEIGHBOUR));
  } finally {
    await engine.stop();
    await Promise.all([...sites, hangingSite].map((site) => site.close()));
    await names.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const NEIGHBOUR = 'neighbour';

function report(
  size: StarvationSize,
  alone: readonly number[],
  beside: readonly number[],
  names: NameServer,
  neighbour: Awaited<ReturnType<Engine['ledger']['job']>>,
) {
  const ratios = beside.map((ms, index) => ms / (alone[index] ?? Number.NaN));
  const worst = Math.max(...ratios);
  const rows = ratios.map((ratio, index) => {
    const row = `${seconds(alone[index] ?? 0)} alone, ${seconds(beside[index] ?? 0)} beside, ${ratio.toFixed(2)} times`;
    return [`job ${index + 1}`, row];
  });
  return {
    neighbour: size.deadDns > 0 ? `${size.deadDns} dead names` : `${size.hanging} hanging on ${size.hosts} hosts`,
    neighbour_in_flight: (neighbour?.counts.queued ?? 0) + (neighbour?.counts.inProgress ?? 0),
    ...(size.deadDns > 0 ? { questions_without_answer: names.unanswered() } : {}),
    ...Object.fromEntries(rows),
    worst_ratio: Math.round(worst * 100) / 100,
    allowed_ratio: ALLOWED_RATIO,
    ok: worst <= ALLOWED_RATIO,
  };
}

/** Answers when its workers have all of it that they will take: nothing was taken up for a second. */
async function beginHanging(engine: Engine, size: StarvationSize, { port }: Site): Promise<void> {
  const host = (index: number) => `127.2.${Math.floor((index % size.hosts) / 250)}.${1 + ((index % size.hosts) % 250)}`;
  const urls = Array.from({ length: size.hanging }, (_, index) => `http://${host(index)}:${port}/${index}`);
  await beginNeighbour(engine, urls);
}

async function beginDeadNames(engine: Engine, count: number): Promise<void> {
  await beginNeighbour(
    engine,
    Array.from({ length: count }, (_, index) => `http://dead-${index}.example.test/`),
  );
}

async function beginNeighbour(engine: Engine, urls: readonly string[]): Promise<void> {
  await submit(engine, NEIGHBOUR, urls, urls.length);
  for (let before = -1, now = 0; now === 0 || now !== before; ) {
    await engine.clock.sleep(1000);
    before = now;
    now = (await engine.ledger.job(NEIGHBOUR))?.counts.inProgress ?? 0;
  }
}

/** Milliseconds from its submission to its completion. */
async function timeJob(engine: Engine, jobId: string, base: string, items: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const begun = performance.now();
  const unsubscribe = engine.events.subscribe((event) => {
    if (event.kind !== 'job' || event.job.jobId !== jobId) return;
    if (event.because === 'complete' && event.job.counts.success === items) resolve(performance.now() - begun);
    else if (event.because === 'complete' || event.because === 'trip')
      reject(new Error(`${jobId}: of ${items} items ${event.job.counts.failed} failed`));
  });
  const urls = Array.from({ length: items }, (_, index) => `http://${base}/${jobId}/${index}`);
  await submit(engine, jobId, urls, CONCURRENCY);
  return promise.finally(unsubscribe);
}

async function submit(engine: Engine, jobId: string, urls: readonly string[], concurrency: number): Promise<void> {
  const answer = await engine.submit({
    job_id: jobId,
    scraper_id: 'example-http',
    items: urls.map((url, index) => ({ item_id: `item-${index}`, input: { url } })),
    execution_policy: {
      throttling: { max_concurrent_workers: concurrency, adaptive: false },
      circuit_breaker: { min_requests: 100_000, consecutive_failures: 100_000 },
    },
  });
  if (answer.kind !== 'created') throw new Error(`the benchmark's job was not made: ${JSON.stringify(answer)}`);
}

function nameOf(index: number): string {
  return `site-${index}.example.test`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
