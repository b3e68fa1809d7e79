import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { command, startTrawl, tempFolder } from '../cli/trawl.ts';
import { startEmulators } from '../support/aws/emulators.ts';
import { awsEnvironment, awsNames } from '../support/aws/names.ts';
import { sized } from '../support/sized.ts';

const ITEMS = sized({ quick: 100, slow: 600 });
const WORKERS = sized({ quick: 3, slow: 4 });
const JOB = 'parcels';

const emulators = await startEmulators();
after(() => emulators.stop());
const { tableName, bucket, queueUrls } = awsNames(emulators, `flow-${process.pid}`);
const AWS = {
  ...awsEnvironment(emulators),
  TRAWL_BACKEND: 'aws',
  TABLE_NAME: tableName,
  WEB_SCRAPER_QUEUE_URL: queueUrls.http,
  WEB_SCRAPER_RESULTS_BUCKET: bucket,
  TRAWL_SCRAPERS: fileURLToPath(new URL('../crash/scrapers', import.meta.url)),
  TRAWL_LEASE_MS: '2000',
  TRAWL_SLOTS: '4',
  TRAWL_LOG_TO: 'stderr',
};

test('a job of two controllers and several workers comes to its end, whichever of them is killed', async () => {
  const folder = tempFolder();
  const created = await command(['doctor', '--create'], { ...AWS, TRAWL_DATA_DIR: join(folder, 'unused') });
  assert.equal(created.code, 0, created.stdout + created.stderr);

  const first = await startController();
  await first.shows(/"leading"|"msg":"leading/);
  const workers = Array.from({ length: WORKERS }, () => startTrawl(['worker'], AWS));
  const [second] = await Promise.all([startController(), ...workers.map((worker) => worker.shows(/"working"/))]);

  const log = join(folder, 'log');
  await submit(second.url, log);
  const watched = fetch(`${second.url}/jobs/${JOB}/events`).then((events) => events.text());

  // Two workers with work in their hands, then the controller that leads.
  const living = new Set(workers);
  await untilDone(second.url, ITEMS / 5);
  await killBusy(living, log);
  await untilDone(second.url, ITEMS / 2);
  await killBusy(living, log);
  first.signalGroup('SIGKILL');

  assert.match(await watched, /event: end/);
  assert.deepEqual(await statusOf(second.url), {
    job_id: JOB,
    status: 'completed',
    summary: { ...NONE, success: ITEMS, total: ITEMS },
    waiting_for: null,
  });

  const verified = await command(['verify', JOB], AWS);
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  const rows = await exported(second.url);
  assert.equal(rows.length, ITEMS);
  assert.equal(new Set(rows.map(({ item_id }) => item_id)).size, ITEMS);
  assert.ok(rows.every(({ status }) => status === 'success'));
  // Those that were killed had work, and it was done again.
  const starts = readLog(log).filter(({ what }) => what === 'start');
  assert.ok(starts.length > ITEMS, `${starts.length} starts of ${ITEMS} items`);

  const last = [second, ...living];
  for (const process of last) process.signalGroup('SIGTERM');
  for (const process of last) assert.equal((await process.ended).code, 0);
});

const NONE = { pending: 0, queued: 0, in_progress: 0, success: 0, failed: 0, skipped: 0, cancelled: 0 };

async function startController() {
  const controller = startTrawl(['controller', '--port', '0'], AWS);
  const [, url = ''] = await controller.shows(/"url":"([^"]+)"/);
  return { ...controller, url };
}

async function submit(url: string, log: string): Promise<void> {
  const items = Array.from({ length: ITEMS }, (_, index) => ({
    item_id: `parcel-${index}`,
    // Long enough for a worker to be still in the middle of an item when it is killed for that.
    input: { log, ms: index < ITEMS / 5 ? 80 : 300, bytes: 100 },
  }));
  const made = await fetch(`${url}/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      job_id: JOB,
      scraper_id: 'crash-logged',
      items,
      // As many as there are slots, so that no worker is without work.
      execution_policy: { throttling: { max_concurrent_workers: 16 } },
    }),
  });
  assert.equal(made.status, 201, await made.text());
}

type Worker = ReturnType<typeof startTrawl>;

/** Kills one of the workers that has begun an item and not ended it, and takes it out of the set. */
async function killBusy(workers: Set<Worker>, log: string): Promise<void> {
  for (;;) {
    const open = new Map<string, number>();
    for (const { what, pid } of readLog(log)) open.set(pid, (open.get(pid) ?? 0) + (what === 'start' ? 1 : -1));
    for (const [pid, items] of open) {
      const busy = items > 0 && [...workers].find(({ group }) => group === groupOf(pid));
      if (!busy) continue;
      busy.signalGroup('SIGKILL');
      workers.delete(busy);
      return;
    }
    await setTimeout(20);
  }
}

/** The process group of a process; null if it is gone. */
function groupOf(pid: string): number | null {
  try {
    const [, group] = /\) \S+ \d+ (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return Number(group);
  } catch {
    return null;
  }
}

/** The beginnings and ends of items that have been logged so far. */
function readLog(log: string): readonly { readonly what: string; readonly pid: string }[] {
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => {
    const [what = '', , pid = ''] = line.split(' ');
    return { what, pid };
  });
}

interface Status {
  readonly summary: Readonly<Record<string, number>>;
}

async function statusOf(url: string): Promise<Status> {
  return (await (await fetch(`${url}/jobs/${JOB}/status`)).json()) as Status;
}

async function untilDone(url: string, items: number): Promise<void> {
  for (;;) {
    const { summary } = await statusOf(url);
    if ((summary['success'] ?? 0) >= items) return;
    // Those who are waited for need the processor.
    await setTimeout(50);
  }
}

async function exported(url: string): Promise<readonly { readonly item_id: string; readonly status: string }[]> {
  const answer = await fetch(`${url}/jobs/${JOB}/export?format=jsonl`);
  assert.equal(answer.status, 200, answer.statusText);
  return (await answer.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
