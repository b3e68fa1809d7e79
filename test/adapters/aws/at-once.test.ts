import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { atOnce } from '../../../src/adapters/aws/at-once.ts';

test('no more tasks are at work at once than allowed, and answers come in the order of the list', async () => {
  let working = 0;
  let most = 0;
  const answers = await atOnce(3, [5, 1, 4, 2, 3, 0, 6], async (turns) => {
    working += 1;
    most = Math.max(most, working);
    for (let turn = 0; turn < turns; turn += 1) await setImmediate();
    working -= 1;
    return turns * 10;
  });
  assert.deepEqual(answers, [50, 10, 40, 20, 30, 0, 60]);
  assert.equal(most, 3);
  assert.deepEqual(await atOnce(3, [], async () => 1), []);
});

test('after a failure nothing more is begun, and what had been begun has ended before it is thrown', async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  const work = async (each: number) => {
    begun.push(each);
    await setImmediate();
    if (each === 1) throw new Error('the first');
    await setImmediate();
    ended.push(each);
  };
  await assert.rejects(atOnce(2, [1, 2, 3, 4], work), /the first/);
  assert.deepEqual([begun, ended], [[1, 2], [2]]);
});
