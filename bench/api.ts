import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Worker } from 'node:worker_threads';
import { startServe } from './api/service.ts';
import { openWatchers } from './api/watchers.ts';

const JOB = 'bench';
const WATCHERS = 100;
const WINDOW_MS = 10_000;
const PROBE_EVERY_MS = 5;
/** Lines that cannot be used, at known places. */
const BAD_EVERY = 100_000;

/**
 * The API beside a job at full rate: an upload of all items, then the job with a constantly polling client, with and
 * without watchers in turns, an export while it runs, and a start on the resulting ledger.
 */
export async function benchApi(
  size: { items: number; workers: number; concurrency: number },
  say: (line: string) => void,
) {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-bench-'));
  let service = await startServe(dataDir, { workers: size.workers, slots: Math.max(64, size.concurrency) });
  const peak = new Peak(() => service.rssMb());
  try {
    await call(service.url, 'POST', '/jobs', {
      job_id: JOB,
      scraper_id: 'example-noop',
      hold: true,
      execution_policy: { throttling: { max_concurrent_workers: size.concurrency } },
    });
    const upload = await uploadItems(service.url, size.items);
    const uploadRss = peak.take();
    say(`uploaded: ${JSON.stringify(upload)}, controller at most ${uploadRss} MB`);

    await call(service.url, 'POST', `/jobs/${JOB}/start`);
    await pause(2000);
    const probe = startProbe(service.url);
    const rates: { watched: boolean; perSecond: number }[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const watched = turn % 2 === 1;
      const watchers = watched ? await openWatchers(service.url, JOB, WATCHERS) : null;
      const perSecond = await rateOf(service.url);
      const sent = watchers === null ? '' : `, ${Math.round(watchers.bytes() / 1e6)} MB sent`;
      watchers?.close();
      if (perSecond === null) break;
      rates.push({ watched, perSecond });
      say(`${watched ? `${WATCHERS} watchers` : 'no watchers'}: ${perSecond} items/s${sent}`);
    }
    const latency = await probe.stop();
    say(JSON.stringify(latency));
    const runRss = peak.take();
    const exported = await drain(service.url, `/jobs/${JOB}/export?format=jsonl`);
    const exportRss = peak.take();
    say(`export: ${JSON.stringify(exported)}, controller at most ${exportRss} MB`);
    await service.stop();
    const begun = performance.now();
    service = await startServe(dataDir, { workers: 1, slots: 64 });
    await untilReady(service.url);
    const readyMs = Math.round(performance.now() - begun);
    return {
      items: size.items,
      ...upload,
      upload_rss_mb: uploadRss,
      rate: mean(rates.filter(({ watched }) => !watched)),
      rate_watched: mean(rates.filter(({ watched }) => watched)),
      watched_to_unwatched:
        Math.round(
          (mean(rates.filter(({ watched }) => watched)) / mean(rates.filter(({ watched }) => !watched))) * 1000,
        ) / 1000,
      ...latency,
      run_rss_mb: runRss,
      export_rows: exported.rows,
      export_rows_per_second: exported.rows_per_second,
      export_rss_mb: exportRss,
      ready_ms: readyMs,
    };
  } finally {
    peak.stop();
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function untilReady(url: string): Promise<void> {
  while ((await fetch(`${url}/ready`)).status !== 200) await pause(10);
}

async function uploadItems(url: string, items: number) {
  const begun = performance.now();
  const sent = request(`${url}/jobs/${JOB}/items`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
  });
  const answered = new Promise<string>((resolve, reject) => {
    sent.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve(body));
    });
    sent.on('error', reject);
  });
  await pipeline(Readable.from(lines(items), { objectMode: false }), sent);
  const answer = JSON.parse(await answered) as { added: number; bad: number };
  const seconds = (performance.now() - begun) / 1000;
  return { added: answer.added, bad: answer.bad, upload_per_second: Math.round(items / seconds) };
}

function* lines(count: number): Generator<Buffer> {
  let text = '';
  for (let number = 1; number <= count; number += 1) {
    const parcel = ((number * 2_654_435_761) % 4_294_967_296).toString(36);
    text +=
      number % BAD_EVERY === 0
        ? '{"item_id": this is no JSON\n'
        : `{"item_id":"parcel-${parcel}-${number}","input":{"apn":"200-14-${number}","county":"demo"}}\n`;
    if (number % 1000 !== 0 && number !== count) continue;
    yield Buffer.from(text);
    text = '';
  }
}

/** Over a window; null if the job ended in it. */
async function rateOf(url: string): Promise<number | null> {
  const before = await finished(url);
  const begun = performance.now();
  await pause(WINDOW_MS);
  const after = await finished(url);
  if (after.status !== 'in_progress') return null;
  return Math.round((after.count - before.count) / ((performance.now() - begun) / 1000));
}

async function finished(url: string) {
  const { status, summary } = (await call(url, 'GET', `/jobs/${JOB}/status`)) as {
    status: string;
    summary: { success: number; failed: number };
  };
  return { status, count: summary.success + summary.failed };
}

async function drain(url: string, path: string) {
  const begun = performance.now();
  const response = await fetch(url + path);
  let rows = 0;
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    for (const byte of chunk) if (byte === 10) rows += 1;
  }
  return {
    rows,
    mb: Math.round(bytes / 1e6),
    rows_per_second: Math.round(rows / ((performance.now() - begun) / 1000)),
  };
}

function startProbe(url: string) {
  const worker = new Worker(new URL('./api/probe.ts', import.meta.url), {
    workerData: { url, jobId: JOB, everyMs: PROBE_EVERY_MS },
  });
  const answer = new Promise<{ job: number[]; pages: { ms: number; path: string }[] }>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  return {
    async stop() {
      worker.postMessage('stop');
      const { job, pages } = await answer;
      const times = pages.map(({ ms }) => ms);
      return {
        job_reads: job.length,
        job_p50_ms: at(job, 0.5),
        job_p99_ms: at(job, 0.99),
        job_max_ms: at(job, 1),
        page_p50_ms: at(times, 0.5),
        page_p99_ms: at(times, 0.99),
        page_max_ms: at(times, 1),
        slowest_page: pages.toSorted((one, other) => other.ms - one.ms)[0]?.path.replace(/cursor=.*/, 'cursor=…') ?? '',
      };
    },
  };
}

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return Math.round(value * 100) / 100;
}

function mean(rates: readonly { readonly perSecond: number }[]): number {
  return Math.round(rates.reduce((sum, { perSecond }) => sum + perSecond, 0) / Math.max(1, rates.length));
}

async function call(url: string, method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** The highest value since the last read. */
class Peak {
  readonly #timer: NodeJS.Timeout;
  #most = 0;

  constructor(read: () => number) {
    this.#timer = setInterval(() => {
      this.#most = Math.max(this.#most, read());
    }, 50);
  }

  take(): number {
    const most = this.#most;
    this.#most = 0;
    return most;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
