import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { Lease, SettleAnswer, Settlement, SettlePart } from '../../src/ports/ledger.ts';
import { DoneItems } from '../../src/worker/done-items.ts';
import { OwnErrors } from '../../src/worker/own-errors.ts';
import { Settler } from '../../src/worker/settle.ts';
import { FakeClock } from '../support/fake-clock.ts';

const EVERY_MS = 100;

/** Batches of one worker, and what their ledger was asked to settle. */
function startWorker() {
  const clock = new FakeClock();
  const asked: number[][][] = [];
  let answers: Promise<SettleAnswer> = Promise.resolve('recorded');
  const settle = async (parts: readonly SettlePart[]) => {
    asked.push(parts.map(({ items }) => items.map(({ seq }) => seq)));
    const answer = await answers;
    return parts.map(() => answer);
  };
  const deps = {
    ...{ clock, faults: NO_FAULTS, ownErrors: new OwnErrors(), settler: new Settler({ settle }, clock) },
    ...{ settings: { settleEveryMs: EVERY_MS }, isLost: () => false },
    onError: (_: string, error: unknown) => assert.ifError(error),
  };
  const batch = (token: string) => {
    const lease = { token, ref: { batchId: token, jobId: 'a' }, items: [] } as unknown as Lease;
    const done = new DoneItems(deps, lease, new AbortController().signal);
    const end = (seq: number) => {
      done.add({ seq, attempt: 1, outcome: { kind: 'scraped', artifacts: [] } } as unknown as Settlement);
      done.settleBeside();
    };
    return { done, end };
  };
  /** A settle goes out in the turn after its time has come. */
  const pass = async (ms: number) => {
    await clock.advance(ms);
    await clock.turn();
    await clock.turn();
  };
  const answerWith = (answer: Promise<SettleAnswer>) => {
    answers = answer;
  };
  return { pass, asked, batch, answerWith };
}

test('what ended is settled while the next item is still at work', async () => {
  const { pass, asked, batch } = startWorker();
  const { done, end } = batch('t');
  end(0);
  await pass(EVERY_MS / 2);
  end(1);
  assert.deepEqual(asked, []);
  await pass(EVERY_MS / 2);
  assert.deepEqual(asked, [[[0, 1]]]);
  assert.deepEqual([done.isWaiting, done.answer], [false, 'recorded']);
});

test('batches of a worker are settled in one call, whenever they began', async () => {
  const { pass, asked, batch } = startWorker();
  const first = batch('t');
  first.end(0);
  await pass(EVERY_MS * 0.7);
  batch('u').end(0);
  await pass(EVERY_MS * 0.3);
  assert.deepEqual(asked, [[[0], [0]]]);
});

test('an item that took longer than a period is settled at once', async () => {
  const { pass, asked, batch } = startWorker();
  const { end } = batch('t');
  await pass(2.5 * EVERY_MS);
  end(0);
  await pass(1);
  assert.deepEqual(asked, [[[0]]]);
});

test('one settle at a time: what ends meanwhile goes with the next', async () => {
  const { pass, asked, batch, answerWith } = startWorker();
  const { done, end } = batch('t');
  const answer = Promise.withResolvers<SettleAnswer>();
  answerWith(answer.promise);
  end(0);
  await pass(EVERY_MS);
  end(1);
  await pass(0.9 * EVERY_MS);
  assert.deepEqual([asked, done.isBehind], [[[[0]]], false]);
  await pass(2 * EVERY_MS);
  assert.equal(done.isBehind, true);
  answer.resolve('recorded');
  await pass(EVERY_MS);
  assert.deepEqual(asked, [[[0]], [[1]]]);
  assert.deepEqual([done.isWaiting, done.isBehind], [false, false]);
});

test('the end of a batch waits for a settle under way, and settles the rest at once', async () => {
  const { pass, asked, batch, answerWith } = startWorker();
  const { done, end } = batch('t');
  const answer = Promise.withResolvers<SettleAnswer>();
  answerWith(answer.promise);
  end(0);
  await pass(EVERY_MS);
  end(1);
  const all = done.settleAll();
  await pass(1);
  assert.deepEqual(asked, [[[0]]]);
  answer.resolve('recorded');
  await pass(1);
  assert.deepEqual([await all, asked, done.isWaiting], ['recorded', [[[0]], [[1]]], false]);
});

test('after a fence nothing more is settled', async () => {
  const { pass, asked, batch, answerWith } = startWorker();
  const { done, end } = batch('t');
  answerWith(Promise.resolve('fenced'));
  end(0);
  await pass(EVERY_MS);
  assert.equal(done.answer, 'fenced');
  end(1);
  const all = done.settleAll();
  await pass(EVERY_MS);
  assert.deepEqual([await all, asked], ['fenced', [[[0]]]]);
});

test('a batch that was taken away settles nothing more', async () => {
  const { pass, asked, batch } = startWorker();
  const { done, end } = batch('t');
  end(0);
  const stopped = done.stop();
  await pass(3 * EVERY_MS);
  await stopped;
  assert.deepEqual(asked, []);
});
