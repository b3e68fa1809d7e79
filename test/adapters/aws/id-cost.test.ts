import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeRuns } from '../../../src/adapters/aws/ids/id-run.ts';
import { idsOf, Job } from './id-job.ts';
import { openIdRoom } from './id-room.ts';

const room = openIdRoom();

const CHUNK = 1000;

test('the cost of an import and of a lookup stays small', async (t) => {
  const writer = room.open();
  // As long as the ids that a clock makes: it is in the key of every row.
  const job = new Job('019a8c5e-7d1f-7abc-8def-0123456789ab');
  const chunkOf = (number: number) => idsOf(`https://example.com/parcels/${number}`, CHUNK);
  const importChunk = (number: number) => job.add(writer.index, chunkOf(number));
  for (let number = 0; number < 255; number += 1) await importChunk(number);

  await t.test('looking up an id takes two requests, however many runs there are', async () => {
    assert.equal(job.runs.length, 30);
    assert.ok(encodeRuns(job.runs).length < 30 * 30);
    const { index, meter } = room.open();
    const [itemId = ''] = chunkOf(77);
    assert.deepEqual(await index.locate(job, [itemId], job.confirm), [77 * CHUNK]);
    assert.deepEqual(meter.requests, ['BatchGetItem', 'BatchGetItem']);
    assert.ok(meter.readUnits <= 30 * 3, `${meter.readUnits} read units`);
  });

  await t.test('thousands of ids are looked up by reading each row once, and then from memory', async () => {
    const { index, meter } = room.open();
    const asked = [...chunkOf(3), ...chunkOf(200), ...idsOf('absent', 2000)];
    const places = await index.locate(job, asked, job.confirm);
    assert.deepEqual(places, [
      ...Array.from({ length: CHUNK }, (_, at) => 3 * CHUNK + at),
      ...Array.from({ length: CHUNK }, (_, at) => 200 * CHUNK + at),
      ...Array.from({ length: 2000 }, () => null),
    ]);
    assert.ok(meter.requests.length <= 6 && meter.readUnits <= 255 * 3, `${meter.requests} ${meter.readUnits}`);
    meter.reset();
    await index.locate(job, asked, job.confirm);
    assert.deepEqual(meter.requests, []);
  });

  await t.test(
    'an index that has no memory for tables still reads next to nothing for ids that are not there',
    async () => {
      const { index, meter } = room.open({ maxCacheBytes: 900_000 });
      await index.find(job, idsOf('first', 1000));
      assert.ok(index.cacheBytes > 255_000 * 2 && index.cacheBytes <= 900_000, `${index.cacheBytes} bytes`);
      meter.reset();
      await index.find(job, idsOf('absent', 1000));
      assert.ok(meter.readUnits < 30, `${meter.readUnits} read units`);
    },
  );

  await t.test('an item costs a twentieth of a write unit, merges and deletions included', async () => {
    // This chunk merges all of them into one run: the cycle is complete, and the next one costs the same.
    await importChunk(255);
    assert.deepEqual(
      job.runs.map(({ from, to, level }) => [from, to, level]),
      [[0, 256 * CHUNK, 2]],
    );
    const perItem = writer.meter.writeUnits / job.items.length;
    assert.ok(perItem < 0.05, `${perItem} write units per item`);
    assert.ok(perItem > 0.03, `${perItem} write units per item: is all of it counted?`);
    assert.deepEqual(new Set(writer.meter.requests), new Set(['BatchWriteItem']));
    t.diagnostic(`${perItem.toFixed(4)} write units per item`);
    assert.equal(await room.rowsOf(job.inc), 256);
  });
});
