import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { startServe } from './api/service.ts';
import { memoryOf } from './memory.ts';

const SAMPLE_MS = 50;

/**
 * All items of a job in one POST /jobs: how fast, and in how much memory of the controller; a tenth of them first, to see
 * whether memory grows with their number. Then the same request again and again, and the controller is killed at a
 * different moment of each: after the restart the job is absent or whole, and its id is free or taken.
 */
export async function benchCreate(size: { items: number; kills: number }, say: (line: string) => void) {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-bench-'));
  let service = await startServe(dataDir, { workers: 1, slots: 8 });
  try {
    const idleMb = service.rssMb();
    const tenth = await measured(service, 'tenth', Math.ceil(size.items / 10));
    say(`a tenth: ${JSON.stringify(tenth)}`);
    const whole = await measured(service, 'whole', size.items);
    say(`all: ${JSON.stringify(whole)}, idle ${idleMb} MB`);
    const ends: string[] = [];
    for (let kill = 1; kill <= size.kills; kill += 1) {
      const jobId = `killed-${kill}`;
      const share = shareOf(kill, size.kills);
      const sending = createJob(service.url, jobId, size.items, share);
      await (kill === size.kills ? sending.answered : sending.reached);
      process.kill(service.pid, 'SIGKILL');
      const answer = await sending.answered.catch(() => null);
      await service.ended;
      service = await startServe(dataDir, { workers: 1, slots: 8 });
      const total = await totalOf(service.url, jobId);
      if (total !== null && total !== size.items) throw new Error(`${jobId} has ${total} of ${size.items} items`);
      if (answer === 201 && total === null) throw new Error(`${jobId} was answered with 201, and is not there`);
      ends.push(total === null ? 'absent' : 'whole');
      say(
        `killed at ${Math.round(share * 100)} % of the bytes: ${ends.at(-1)}${answer === null ? '' : `, answered ${answer}`}`,
      );
    }
    const listed = await jobsIn(service.url);
    if (listed !== 2 + ends.filter((end) => end === 'whole').length) throw new Error(`${listed} jobs are listed`);
    return {
      items: size.items,
      idle_rss_mb: idleMb,
      tenth_per_second: tenth.per_second,
      tenth_peak_rss_mb: tenth.peak_rss_mb,
      items_per_second: whole.per_second,
      peak_rss_mb: whole.peak_rss_mb,
      rss_mb_by_fifth: whole.rss_mb_by_fifth,
      kills: size.kills,
      after_kills: ends.join(' '),
    };
  } finally {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Spread over the request: one kill at its last byte, and the last one when it is answered. */
function shareOf(kill: number, kills: number): number {
  return kill >= kills - 1 ? 1 : kill / (kills - 1);
}

async function measured(service: { readonly url: string; readonly pid: number }, jobId: string, items: number) {
  const samples: number[] = [];
  const timer = setInterval(() => samples.push(memoryOf(service.pid)?.nowMb ?? 0), SAMPLE_MS);
  const begun = performance.now();
  const status = await createJob(service.url, jobId, items, 1).answered;
  const seconds = (performance.now() - begun) / 1000;
  clearInterval(timer);
  if (status !== 201) throw new Error(`POST /jobs was answered with ${status}`);
  if ((await totalOf(service.url, jobId)) !== items) throw new Error(`${jobId} is not whole`);
  const perSecond = Math.round(items / seconds);
  return { items, per_second: perSecond, peak_rss_mb: Math.max(...samples), rss_mb_by_fifth: peaksOf(samples, 5) };
}

/** The highest of each stretch of the samples: memory that grows with the items shows in them. */
function peaksOf(samples: readonly number[], stretches: number): number[] {
  const length = Math.ceil(samples.length / stretches);
  return Array.from({ length: stretches }, (_, at) => Math.max(0, ...samples.slice(at * length, (at + 1) * length)));
}

/** `reached` resolves when this share of the bytes is on its way. */
function createJob(url: string, jobId: string, items: number, share: number) {
  const reached = Promise.withResolvers<void>();
  const sent = request(`${url}/jobs`, { method: 'POST', headers: { 'content-type': 'application/json' } });
  const answered = new Promise<number>((resolve, reject) => {
    sent.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)));
    sent.on('error', reject);
  });
  const body = bytesOf(jobId, items, share, () => reached.resolve());
  // A broken connection also shows in `answered`.
  pipeline(Readable.from(body, { objectMode: false }), sent).catch(() => reached.resolve());
  return { reached: reached.promise, answered };
}

function* bytesOf(jobId: string, items: number, share: number, onShare: () => void): Generator<Buffer> {
  let text = `{"job_id":"${jobId}","scraper_id":"example-noop","hold":true,"items":[`;
  for (let number = 1; number <= items; number += 1) {
    const parcel = ((number * 2_654_435_761) % 4_294_967_296).toString(36);
    text += `{"item_id":"parcel-${parcel}-${number}","input":{"apn":"200-14-${number}","county":"demo"}}`;
    text += number === items ? ']}' : ',';
    if (number % 1000 !== 0 && number !== items) continue;
    yield Buffer.from(text);
    text = '';
    if (number >= items * share) onShare();
  }
}

/** Null if there is no such job. */
async function totalOf(url: string, jobId: string): Promise<number | null> {
  const answer = await fetch(`${url}/jobs/${jobId}/status`);
  if (answer.status === 404) return null;
  return ((await answer.json()) as { summary: { total: number } }).summary.total;
}

async function jobsIn(url: string): Promise<number> {
  const answer = (await (await fetch(`${url}/jobs?limit=500`)).json()) as { jobs: readonly unknown[] };
  return answer.jobs.length;
}
