import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IdIndex, IdJob } from '../../../src/adapters/aws/ids/id-index.ts';
import { sized } from '../../support/sized.ts';
import { Job } from './id-job.ts';
import { openIdRoom } from './id-room.ts';

const room = openIdRoom();

const IDS = 12_000;
const SMALL_CACHE = 9000;
/** Few enough that most candidates are false. */
const hashOf = (_: string, itemId: string) => (Math.imul(Number(itemId), 0x9e3779b1) >>> 20) * 2 ** 20;

/** Whole numbers below a limit, the same for the same seed. */
function drawing(seed: number): (limit: number) => number {
  let state = seed * 7919;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

type Outcome = 'won' | 'lost' | 'moved';

/** An addition as the ledger makes it: ask, append, and then commit if no other writer has in the meantime. */
async function beginToAdd(
  index: IdIndex,
  job: Job,
  seen: IdJob,
  itemIds: readonly string[],
): Promise<(mood: number) => Promise<Outcome>> {
  const located = await index.locate(seen, itemIds, job.confirm);
  if (located === 'moved') return async () => 'moved';
  const unknown = itemIds.filter((_, at) => located[at] === null);
  const appended = await index.append(seen, unknown);
  if (appended === 'moved') return async () => 'moved';
  // Now and then a process dies before it can tidy up.
  return async (mood) => {
    if (job.runs !== seen.runs) {
      if (mood > 1) await appended.lost();
      return 'lost';
    }
    job.items.push(...unknown);
    job.runs = appended.runs;
    if (mood > 0) await appended.committed();
    return 'won';
  };
}

for (const seed of sized({ quick: [1], slow: [1, 2] })) {
  test(`two writers who race, die and read old lists agree with a plain map (seed ${seed})`, async () => {
    const below = drawing(seed);
    const someIds = (count: number) => [...new Set(Array.from({ length: count }, () => String(below(IDS))))];
    const [small, large] = [room.open({ hashOf, maxCacheBytes: SMALL_CACHE }), room.open({ hashOf })];
    const job = new Job(`map-${seed}`);
    const places = new Map<string, number>();
    const outcomes: Outcome[] = [];
    let old = job.snapshot();

    for (let round = 0; round < 120; round += 1) {
      const seen = below(5) === 0 ? old : job.snapshot();
      if (below(4) === 0) old = job.snapshot();
      const size = round % 20 === 0 ? 1500 : 1 + below(25);
      const writers = [small, large].slice(below(2));
      const begun = [];
      for (const { index } of writers) begun.push(await beginToAdd(index, job, seen, someIds(size)));
      for (const commit of below(2) === 0 ? begun : begun.reverse()) outcomes.push(await commit(below(10)));
      for (const itemId of job.items.slice(places.size)) {
        assert.ok(!places.has(itemId), `${itemId} was added twice`);
        places.set(itemId, places.size);
      }
      const asked = someIds(5);
      const expected = asked.map((itemId) => places.get(itemId) ?? null);
      assert.deepEqual(await small.index.locate(job, asked, job.confirm), expected);
      assert.deepEqual(await large.index.locate(job, asked, job.confirm), expected);
      assert.ok(small.index.cacheBytes <= SMALL_CACHE);
    }

    const all = Array.from({ length: IDS }, (_, number) => String(number));
    const expected = all.map((itemId) => places.get(itemId) ?? null);
    for (const { index } of [small, large, room.open({ hashOf })]) {
      assert.deepEqual(await index.locate(job, all, job.confirm), expected);
    }
    assert.deepEqual(new Set(outcomes), new Set(['won', 'lost', 'moved']));
    assert.ok(job.items.length > 4000 && job.runs.length < 45 && job.runs.some(({ level }) => level > 0));
  });
}
