import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ItemWait } from '../../src/domain/item-wait.ts';
import { WaitReporter } from '../../src/worker/wait-reporter.ts';
import { FakeClock } from '../support/fake-clock.ts';

function setUp({ fails = false } = {}) {
  const clock = new FakeClock();
  const reports: (readonly ItemWait[])[] = [];
  const add = async (waits: readonly ItemWait[]) => {
    reports.push(waits);
    if (fails) throw new Error('the controller is gone');
  };
  return { clock, reports, reporter: new WaitReporter({ waits: { add }, worker: 'w1', clock }) };
}

test('items that begin to wait within a second are one report, added up by job, failure and second', async () => {
  const { clock, reports, reporter } = setUp();
  for (let item = 0; item < 500; item += 1) reporter.note('a', 'rate_limited', 40_000);
  reporter.note('b', 'timeout', 5000);
  assert.equal(reports.length, 0);
  await clock.advance(1000);
  assert.deepEqual(
    reports.map((report) => report.map(({ jobId, type, items }) => [jobId, type, items])),
    [
      [
        ['a', 'rate_limited', 500],
        ['b', 'timeout', 1],
      ],
    ],
  );
  const [first] = reports.flat();
  assert.ok(first && first.until > clock.now() + 38_000 && first.until <= clock.now() + 40_000, `${first?.until}`);
});

test('nothing is reported twice, and nothing where nothing waits or only for a moment', async () => {
  const { clock, reports, reporter } = setUp();
  reporter.note('a', 'timeout', 900);
  await clock.advance(5000);
  assert.equal(reports.length, 0);
  reporter.note('a', 'timeout', 9000);
  await clock.advance(5000);
  assert.equal(reports.length, 1);
  reporter.note('a', 'timeout', 9000);
  await clock.advance(1000);
  assert.deepEqual(
    reports.map((report) => report.length),
    [1, 1],
  );
});

test('a controller that does not take a report does no harm, and gets the next', async () => {
  const { clock, reports, reporter } = setUp({ fails: true });
  reporter.note('a', 'timeout', 9000);
  await clock.advance(1000);
  reporter.note('a', 'timeout', 9000);
  await clock.advance(1000);
  assert.equal(reports.length, 2);
});
