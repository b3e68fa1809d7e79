import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import type { JobPageAnswer } from '../../src/contract/job-answers.ts';
import { tempFolder } from '../cli/trawl.ts';
import { sized } from '../support/sized.ts';
import { itemIdsOf, logBytes, sendBytes, startVictim, whenLogHas } from './kill-support.ts';

const ITEMS = Array.from({ length: 5000 }, (_, n) => ({ item_id: `i-${n}`, input: { n } }));
const IDS = ITEMS.map(({ item_id: id }) => id);

interface Moment {
  /** The share of the request that is sent at all. */
  readonly share: number;
  readonly kill: 'after-ms' | 'log-grown' | 'answered';
  readonly at: number;
}

function requestOf(jobId: string): Buffer {
  return Buffer.from(JSON.stringify({ job_id: jobId, scraper_id: 'example-noop', items: ITEMS }));
}

test('a controller that is killed while a job is created leaves all of the job or nothing of it', async () => {
  const dataDir = join(tempFolder(), 'data');
  let victim = await startVictim('controller', dataDir);
  const emptyLog = logBytes(dataDir);
  // How long a request takes and how much it writes without interference: the kills are spread a little beyond that.
  const startedAt = performance.now();
  const unharmed = await sendBytes(victim.url, '/jobs', 'application/json', requestOf('unharmed'));
  assert.equal(await unharmed.answered, 201);
  const wholeMs = performance.now() - startedAt;
  const wholeLog = logBytes(dataDir) - emptyLog;
  const moments: readonly Moment[] = [
    ...sized({ quick: [0.999], slow: [0, 0.3, 0.7, 0.999] }).map((share) => ({
      share,
      kill: 'after-ms' as const,
      at: 0,
    })),
    ...sized({ quick: [0.5], slow: [0.2, 0.5, 0.8, 1, 1.2] }).map((part) => ({
      share: 1,
      kill: 'after-ms' as const,
      at: wholeMs * part,
    })),
    // These kills come in the middle of the write itself.
    ...sized({ quick: [0.5], slow: [0.01, 0.3, 0.6, 0.9, 1] }).map((part) => ({
      share: 1,
      kill: 'log-grown' as const,
      at: wholeLog * part,
    })),
    { share: 1, kill: 'answered', at: 0 },
  ];

  let made = 0;
  const expected = new Map<string, 'absent' | 'there' | 'either'>();
  for (const [index, { share, kill, at }] of moments.entries()) {
    const jobId = `job-${index}`;
    const body = requestOf(jobId);
    const before = logBytes(dataDir);
    const { answered, hangUp } = await sendBytes(
      victim.url,
      '/jobs',
      'application/json',
      body,
      Math.floor(body.length * share),
    );
    if (kill === 'answered') await answered;
    else if (kill === 'log-grown') await whenLogHas(dataDir, before + at, answered);
    // This is the moment of the kill, not a wait for something to happen.
    else await after(at);
    await victim.kill();
    const status = await answered;
    hangUp();
    assert.ok(status === null || status === 201, `${status}`);
    expected.set(jobId, share < 1 ? 'absent' : status === 201 ? 'there' : 'either');

    victim = await startVictim('controller', dataDir);
    const ids = await itemIdsOf(victim.url, jobId);
    if (expected.get(jobId) === 'absent') assert.equal(ids, null, `after ${share} of the request there is no job`);
    if (expected.get(jobId) === 'there') assert.notEqual(ids, null, 'what was answered is kept');
    if (ids === null) continue;
    assert.deepEqual(ids, IDS);
    made += 1;
  }
  assert.equal([...expected.values()].includes('there'), true);
  const { jobs } = (await (await fetch(`${victim.url}/jobs`)).json()) as JobPageAnswer;
  assert.deepEqual([jobs.length, jobs.every(({ summary }) => summary.total === IDS.length)], [made + 1, true]);
  await victim.kill();
});
