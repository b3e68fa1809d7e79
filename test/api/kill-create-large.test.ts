import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import type { JobPageAnswer } from '../../src/contract/job-answers.ts';
import { tempFolder } from '../cli/trawl.ts';
import { sized } from '../support/sized.ts';
import { itemIdsOf, logBytes, sendBytes, startVictim, whenLogHas } from './kill-support.ts';

/** More items than are created in one step, so that they go into a draft chunk by chunk. */
const ITEMS = Array.from({ length: 15_000 }, (_, n) => ({ item_id: `i-${n}`, input: { n } }));
const IDS = ITEMS.map(({ item_id: id }) => id);

interface Moment {
  readonly faults?: string;
  /** The share of the request that is sent at all. */
  readonly share?: number;
  readonly kill: 'at-fault' | 'after-ms' | 'log-grown' | 'answered';
  readonly at?: number;
}

/** Every other request has the items first; their inputs are checked only in the draft. */
function requestOf(jobId: string, index: number): Buffer {
  const fields = { job_id: jobId, scraper_id: 'example-noop' };
  return Buffer.from(JSON.stringify(index % 2 === 0 ? { ...fields, items: ITEMS } : { items: ITEMS, ...fields }));
}

test('a controller that is killed while a large job is read leaves all of it or nothing', async () => {
  const dataDir = join(tempFolder(), 'data');
  const moments: readonly Moment[] = [
    ...sized({ quick: [0.999], slow: [0.3, 0.999] }).map((share) => ({ share, kill: 'after-ms' as const, at: 50 })),
    { kill: 'at-fault', faults: 'between-draft-chunks' },
    { kill: 'at-fault', faults: 'after-draft-before-commit' },
    ...sized<readonly string[]>({
      quick: [],
      slow: ['between-draft-chunks:0.2', 'after-draft-before-commit'],
    }).map((faults) => ({ kill: 'at-fault' as const, faults })),
    ...sized({ quick: [300_000], slow: [1_000, 300_000, 900_000] }).map((at) => ({ kill: 'log-grown' as const, at })),
    { kill: 'answered' },
  ];
  const ends: string[] = [];
  let made = 0;
  let victim = await startVictim('controller', dataDir, moments[0]?.faults);
  for (const [index, { faults = '', share = 1, kill, at = 0 }] of moments.entries()) {
    const jobId = `job-${index}`;
    const body = requestOf(jobId, index);
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
    // It kills itself, or the request has been answered.
    else if (kill === 'at-fault') await Promise.race([victim.ended, answered]);
    // This is the moment of the kill, not a wait for something to happen.
    else await after(at);
    await victim.kill();
    const status = await answered;
    hangUp();
    assert.ok(status === null || status === 201, `${status}`);

    // The controller that is inspected is the next victim.
    victim = await startVictim('controller', dataDir, moments[index + 1]?.faults);
    const ids = await itemIdsOf(victim.url, jobId);
    if (status === 201) assert.notEqual(ids, null, 'what was answered is kept');
    if (share < 1 || faults === 'between-draft-chunks' || faults === 'after-draft-before-commit') {
      assert.equal(ids, null, `there is no job before it is whole (${JSON.stringify(moments[index])})`);
    }
    if (ids !== null) assert.deepEqual(ids, IDS);
    made += ids === null ? 0 : 1;
    ends.push(ids === null ? 'absent' : 'whole');
    const { jobs } = (await (await fetch(`${victim.url}/jobs`)).json()) as JobPageAnswer;
    assert.deepEqual([jobs.length, jobs.every(({ summary }) => summary.total === IDS.length)], [made, true]);
  }
  await victim.kill();
  assert.ok(ends.includes('absent') && ends.at(-1) === 'whole', ends.join());
});
