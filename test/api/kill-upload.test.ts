import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import type { AddedAnswer } from '../../src/contract/item-answers.ts';
import type { JobPageAnswer, JobStatusAnswer } from '../../src/contract/job-answers.ts';
import { tempFolder } from '../cli/trawl.ts';
import { sized } from '../support/sized.ts';
import { itemIdsOf, logBytes, sendBytes, startVictim, whenLogHas } from './kill-support.ts';

const NDJSON = 'application/x-ndjson';
const IDS = Array.from({ length: sized({ quick: 3000, slow: 5000 }) }, (_, n) => `i-${n}`);

function fileOf(ids: readonly string[]): Buffer {
  return Buffer.from(ids.map((id) => `${JSON.stringify({ item_id: id, input: { id } })}\n`).join(''));
}

async function makeJob(url: string, jobId: string, hold: boolean): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ job_id: jobId, scraper_id: 'example-noop', hold });
  assert.equal((await fetch(`${url}/jobs`, { method: 'POST', headers, body })).status, 201);
}

async function upload(url: string, jobId: string, ids: readonly string[]): Promise<AddedAnswer> {
  const asked = { method: 'POST', headers: { 'content-type': NDJSON }, body: fileOf(ids) };
  const answer = await fetch(`${url}/jobs/${jobId}/items`, asked);
  assert.equal(answer.status, 200);
  return (await answer.json()) as AddedAnswer;
}

/** The event stream of a job ends with the job. */
async function statusAtTheEnd(url: string, jobId: string): Promise<JobStatusAnswer> {
  await (await fetch(`${url}/jobs/${jobId}/events`)).text();
  return (await (await fetch(`${url}/jobs/${jobId}/status`)).json()) as JobStatusAnswer;
}

test('an upload that a kill cut off has added its first lines, and adds the rest when it is sent again, each once', async () => {
  const dataDir = join(tempFolder(), 'data');
  const cuts: readonly { faults?: string; share?: number; afterMs?: number; grown?: number }[] = [
    // These kills come just after a chunk is committed: always, or at random. The other test has this one in every run.
    { faults: 'between-import-chunks' },
    ...sized({ quick: [], slow: [0.5, 0.3] }).map((chance) => ({ faults: `between-import-chunks:${chance}` })),
    // These come while lines are on their way, and soon after the last of them.
    ...sized({ quick: [0.9], slow: [0.1, 0.9] }).map((share) => ({ share, afterMs: 5 })),
    ...sized({ quick: [80], slow: [0, 80] }).map((afterMs) => ({ afterMs })),
    // These come while chunks are being written.
    ...sized({ quick: [200_000], slow: [10_000, 200_000, 500_000] }).map((grown) => ({ grown })),
  ];
  const file = fileOf(IDS);
  const kept: number[] = [];
  for (const [index, { faults = '', share = 1, afterMs = 0, grown = 0 }] of cuts.entries()) {
    const jobId = `job-${index}`;
    const victim = await startVictim('controller', dataDir, faults);
    if (index > 0) {
      const ids = (await itemIdsOf(victim.url, `job-${index - 1}`)) ?? assert.fail('the job is there');
      assert.deepEqual(ids, IDS.slice(0, ids.length), 'what was added is the beginning of the file');
      kept.push(ids.length);
    }
    await makeJob(victim.url, jobId, true);
    const path = `/jobs/${jobId}/items`;
    const before = logBytes(dataDir);
    const { answered, hangUp } = await sendBytes(victim.url, path, NDJSON, file, Math.floor(file.length * share));
    if (grown > 0) {
      await whenLogHas(dataDir, before + grown, answered);
      await victim.kill();
    } else if (faults === '') {
      // This is the moment of the kill, not a wait for something to happen.
      await after(afterMs);
      await victim.kill();
    } else if (faults.includes(':')) await answered.then(() => victim.kill());
    else assert.equal((await victim.ended).signal, 'SIGKILL');
    hangUp();
  }
  const last = await startVictim('controller', dataDir);
  assert.ok((kept[0] ?? 0) > 0 && (kept[0] ?? 0) < IDS.length, `some, and not all: ${kept.join()}`);
  for (const index of cuts.keys()) {
    const before = (await itemIdsOf(last.url, `job-${index}`)) ?? assert.fail('the job is there');
    const { added, duplicates } = await upload(last.url, `job-${index}`, IDS);
    assert.deepEqual([added, duplicates], [IDS.length - before.length, before.length]);
    assert.deepEqual(await itemIdsOf(last.url, `job-${index}`), IDS);
  }
  await last.kill();
});

test('a job that was completed before the rest came accepts the rest, with or without kills, and processes every item', async () => {
  const dataDir = join(tempFolder(), 'data');
  const first = await startVictim('serve', dataDir);
  await makeJob(first.url, 'job', false);
  await upload(first.url, 'job', IDS.slice(0, 1000));
  assert.deepEqual((await statusAtTheEnd(first.url, 'job')).status, 'completed');
  await first.kill();

  const second = await startVictim('serve', dataDir, 'between-import-chunks:0.5');
  const { answered, hangUp } = await sendBytes(second.url, '/jobs/job/items', NDJSON, fileOf(IDS));
  // It dies on the way, or reaches the end of the file.
  await answered;
  await second.kill();
  hangUp();

  const third = await startVictim('serve', dataDir);
  const ids = (await itemIdsOf(third.url, 'job')) ?? [];
  assert.ok(ids.length >= 1000);
  assert.deepEqual(ids, IDS.slice(0, ids.length));
  const { added, duplicates } = await upload(third.url, 'job', IDS);
  assert.deepEqual([added, duplicates], [IDS.length - ids.length, ids.length]);
  const { status, summary } = await statusAtTheEnd(third.url, 'job');
  assert.deepEqual([status, summary.success, summary.total], ['completed', IDS.length, IDS.length]);
  assert.deepEqual(await itemIdsOf(third.url, 'job'), IDS);
  const { jobs } = (await (await fetch(`${third.url}/jobs`)).json()) as JobPageAnswer;
  assert.equal(jobs.length, 1);
  await third.kill();
});
