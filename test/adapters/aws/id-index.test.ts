import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idsOf, Job } from './id-job.ts';
import { openIdRoom } from './id-room.ts';

const room = openIdRoom();

test('an id is found at its place by its writer and by another process, and an absent one is not', async () => {
  const [mine, other] = [room.open(), room.open()];
  const job = new Job('found');
  await job.add(mine.index, idsOf('a', 2500));
  await job.add(mine.index, idsOf('b', 1));
  await job.add(mine.index, idsOf('c', 300));
  const asked = ['a-0', 'a-2499', 'b-0', 'c-0', 'c-299', 'a-2500', 'b-1', '', 'A-0'];
  const places = [0, 2499, 2500, 2501, 2800, null, null, null, null];
  assert.deepEqual(await mine.index.locate(job, asked, job.confirm), places);
  assert.deepEqual(await other.index.locate(job, asked, job.confirm), places);
});

test('ids are distinguished by item, not by hash: each of those that share a hash is found, and no other', async () => {
  const hashOf = (_: string, itemId: string) => (Number(itemId.slice(2)) % 7) * 2 ** 29;
  const writer = room.open({ hashOf });
  const job = new Job('collisions');
  const itemIds = idsOf('x', 1200);
  await job.add(writer.index, itemIds.slice(0, 1100));
  await job.add(writer.index, itemIds.slice(1100));
  const reader = room.open({ hashOf });
  for (const { index } of [writer, reader]) {
    assert.deepEqual(await index.locate(job, itemIds, job.confirm), [...itemIds.keys()]);
    assert.deepEqual(await index.locate(job, ['y-1', 'y-999'], job.confirm), [null, null]);
  }
});

test('an addition that lost to another leaves no trace, in the answers or in the table', async () => {
  const { index } = room.open();
  const job = new Job('lost');
  await job.add(index, idsOf('a', 10));
  const lost = await index.append(job, idsOf('lost', 10));
  assert.ok(lost !== 'moved');
  await job.add(index, idsOf('b', 10));
  await lost.lost();
  assert.deepEqual(await index.find(job, ['lost-0', 'lost-9']), [[], []]);
  assert.deepEqual(await index.locate(job, ['b-0'], job.confirm), [10]);
  assert.equal(await room.rowsOf(job.inc), 2);
});

test('a list that was read before its runs were merged is answered from memory, or as moved, never wrongly', async () => {
  const [writer, knowing, late] = [room.open(), room.open(), room.open()];
  const job = new Job('moved');
  for (let chunk = 0; chunk < 15; chunk += 1) await job.add(writer.index, idsOf(`c${chunk}`, 3));
  const before = job.snapshot();
  assert.deepEqual(await knowing.index.locate(before, ['c7-1'], job.confirm), [22]);
  await job.add(writer.index, idsOf('last', 3));
  assert.equal(job.runs.length, 1);
  assert.deepEqual(await knowing.index.locate(before, ['c7-1', 'last-0'], job.confirm), [22, null]);
  assert.equal(await late.index.find(before, ['c7-1']), 'moved');
  assert.equal(await late.index.append(before, ['new']), 'moved');
  assert.deepEqual(await late.index.locate(job, ['c7-1', 'last-0'], job.confirm), [22, 45]);
});

test('a fresh import reads nothing, and only what is new to it is read by another process', async () => {
  const [writer, other] = [room.open(), room.open()];
  const job = new Job('fresh');
  for (let chunk = 0; chunk < 40; chunk += 1) {
    const itemIds = idsOf(`c${chunk}`, 20);
    assert.deepEqual(
      await writer.index.find(job, itemIds),
      itemIds.map(() => []),
    );
    await job.add(writer.index, itemIds);
  }
  assert.deepEqual(new Set(writer.meter.requests), new Set(['BatchWriteItem']));
  await other.index.find(job, ['c3-3']);
  assert.deepEqual(other.meter.requests, ['BatchGetItem']);
  await job.add(writer.index, ['one-more']);
  other.meter.reset();
  await other.index.find(job, idsOf('c3', 20));
  assert.deepEqual([other.meter.requests, other.meter.readUnits], [['BatchGetItem'], 1]);
});

test('removing a job deletes all its rows, those of lost additions too, and those of no other job', async () => {
  const { index } = room.open();
  const [job, another] = [new Job('removed'), new Job('removed-not')];
  await job.add(index, idsOf('a', 5000));
  await index.append(job, idsOf('abandoned', 5000));
  await another.add(index, idsOf('a', 10));
  assert.equal(await room.rowsOf(job.inc), 10);
  await index.remove(job.inc);
  await index.remove(job.inc);
  assert.equal(await room.rowsOf(job.inc), 0);
  assert.equal(await index.find(job, ['a-0']), 'moved');
  assert.deepEqual(await index.locate(another, ['a-3'], another.confirm), [3]);
});

test('a run with damaged rows is an error that names it', async () => {
  const { index } = room.open();
  const job = new Job('damaged');
  await job.add(index, idsOf('a', 3));
  const [run] = job.runs;
  const lying = { inc: job.inc, runs: run === undefined ? [] : [{ ...run, to: 4 }] };
  await assert.rejects(room.open().index.find(lying, ['a-0']), /run of ids damaged \S+ has 3 entries of 4/);
});
