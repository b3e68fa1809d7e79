import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/adapters/system/clock.ts';
import { EtlClient } from '../src/runs/etl/etl-client.ts';
import { startServe } from './api/service.ts';
import { memoryOf } from './memory.ts';

const KEY = 'etl-key-of-the-bench';
/** The loop is slow, and its rate is the same from the beginning. */
const NAIVE_ITEMS = 2000;
const LEAST_FACTOR = 10;
const SAMPLE_MS = 100;

/**
 * Scrape runs, with one service as the ETL API and another one that carries them out. First reports: batches beside a loop
 * of one PATCH per item. Then a tenth of the items as a run, and all of them: memory of the controller that carries it out.
 */
export async function benchRuns(size: { items: number; workers: number }, say: (line: string) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-bench-'));
  const etl = await startServe(join(folder, 'etl'), { workers: 1, slots: 8, env: { TRAWL_API_KEY: KEY } });
  try {
    const reports = await benchReports(etl.url, Math.min(size.items, 100_000));
    say(`reports: ${JSON.stringify(reports)}`);
    const env = { ETL_API_ENDPOINT: etl.url, ETL_API_KEY: KEY };
    const service = await startServe(join(folder, 'runs'), { workers: size.workers, slots: 64, env });
    try {
      const idleMb = service.rssMb();
      const tenth = await carryOut(service, etl.url, Math.ceil(size.items / 10));
      say(`a tenth: ${JSON.stringify(tenth)}`);
      const whole = await carryOut(service, etl.url, size.items);
      say(`all: ${JSON.stringify(whole)}, idle ${idleMb} MB`);
      const isFast = reports.updates_per_s >= LEAST_FACTOR * reports.naive_updates_per_s;
      return {
        ...{ items: size.items, ...reports, factor: round(reports.updates_per_s / reports.naive_updates_per_s) },
        ...{ idle_rss_mb: idleMb, tenth_peak_rss_mb: tenth.peak_rss_mb, peak_rss_mb: whole.peak_rss_mb },
        ...{ rss_mb_by_fifth: whole.rss_mb_by_fifth, items_per_second: whole.per_second, ok: isFast },
      };
    } finally {
      await service.stop();
    }
  } finally {
    await etl.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function openClient(endpoint: string): EtlClient {
  return new EtlClient({ endpoint, apiKey: KEY, clock: systemClock(), log: console });
}

async function benchReports(endpoint: string, items: number) {
  const etl = openClient(endpoint);
  const urls = urlsOf('reports.test', items);
  const { _id: run } = await etl.createScrapeRun({ domain: 'reports.test', items: urls.map((url) => ({ url })) });
  const naive = urls.slice(0, Math.min(NAIVE_ITEMS, Math.ceil(items / 2)));
  const naiveSeconds = await seconds(async () => {
    for (const url of naive) await etl.updateScrapeRunItem(run, { updateItem: { url, changes: { done: true } } });
  });
  const others = urls.slice(naive.length).map((url) => ({ url, changes: { done: true } }));
  const batchSeconds = await seconds(async () => void (await etl.updateScrapeRunItems(run, others)));
  const left = (await etl.fetchScrapeRun(run)).items.filter(({ done }) => !done).length;
  if (left > 0) throw new Error(`${left} updates were lost`);
  await etl.finalizeScrapeRun(run, { status: 'finished', endTime: new Date().toISOString() });
  return {
    updates_per_s: Math.round(others.length / batchSeconds),
    naive_updates_per_s: Math.round(naive.length / naiveSeconds),
  };
}

async function carryOut(service: { readonly url: string; readonly pid: number }, endpoint: string, items: number) {
  const etl = openClient(endpoint);
  const domain = `carried-${items}.test`;
  const { _id: run } = await etl.createScrapeRun({ domain, items: urlsOf(domain, items).map((url) => ({ url })) });
  const samples: number[] = [];
  const timer = setInterval(() => samples.push(memoryOf(service.pid)?.nowMb ?? 0), SAMPLE_MS);
  const begun = performance.now();
  try {
    const answer = await fetch(`${service.url}/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ domain, scraper_id: 'example-noop', sessions: 64, max_items_per_session: 100 }),
    });
    if (answer.status !== 201) throw new Error(`POST /runs was answered with ${answer.status}: ${await answer.text()}`);
    for (;;) {
      const { runs } = (await (await fetch(`${service.url}/runs`)).json()) as { runs: readonly unknown[] };
      if (runs.length === 0) break;
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
    }
  } finally {
    clearInterval(timer);
  }
  const perSecond = Math.round((items * 1000) / (performance.now() - begun));
  const { status, items: reported } = await etl.fetchScrapeRun(run);
  const done = reported.filter((item) => item.done).length;
  if (status !== 'finished' || done !== items) throw new Error(`the run is ${status} with ${done} of ${items} done`);
  return { items, per_second: perSecond, peak_rss_mb: Math.max(...samples), rss_mb_by_fifth: peaksOf(samples, 5) };
}

/** The highest of each stretch of the samples: memory that grows with what was done shows in them. */
function peaksOf(samples: readonly number[], stretches: number): number[] {
  const length = Math.ceil(samples.length / stretches);
  return Array.from({ length: stretches }, (_, at) => Math.max(0, ...samples.slice(at * length, (at + 1) * length)));
}

function urlsOf(host: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `https://${host}/parcels/${String(at).padStart(7, '0')}`);
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1000;
}

function round(factor: number): number {
  return Math.round(factor * 10) / 10;
}
