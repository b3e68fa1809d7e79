import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Committer } from '../../src/adapters/embedded/ledger/committer.ts';
import { openDatabase } from '../../src/adapters/embedded/ledger/database.ts';
import { Durability } from '../../src/adapters/embedded/ledger/durability.ts';
import type { LedgerChange } from '../../src/ports/ledger.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { dataDirOf, stateOf } from './embedded-support.ts';

function openCommitter(t: TestContext) {
  const database = openDatabase(join(dataDirOf(t), 'ledger.db'));
  const calls: string[] = [];
  const working = { flush: () => calls.push('flush'), forget: () => calls.push('forget') };
  const durability = new Durability(
    database,
    async () => {},
    async () => {},
  );
  const committer = new Committer({ database, durability, working, clock: new FakeClock() });
  t.after(async () => {
    await committer.close();
    database.close();
  });
  const set = (name: string, value: string) => database.sql.setMeta.run(name, value);
  const stored = (name: string) => database.sql.meta.get(name)?.['value'] ?? null;
  return { committer, calls, set, stored };
}

function change(jobId: string): LedgerChange {
  return { kind: 'claimed', jobId, batches: 1 };
}

test('what comes in one turn is one group, in order', async (t) => {
  const { committer, calls } = openCommitter(t);
  const order: string[] = [];
  const first = committer.durable(() => order.push('first'));
  const second = committer.applied(() => order.push('second'));
  assert.deepEqual(order, [], 'nothing happens in the call');
  await Promise.all([first, second]);
  assert.deepEqual(order, ['first', 'second']);
  assert.deepEqual(calls, ['flush']);
  await committer.applied(() => {});
  assert.deepEqual(calls, ['flush', 'flush']);
});

test('only the change that throws fails in its group, and nothing of it remains', async (t) => {
  const { committer, calls, set, stored } = openCommitter(t);
  const heard: string[] = [];
  committer.subscribe((told) => heard.push('jobId' in told ? told.jobId : told.kind));
  const answers = await Promise.allSettled([
    committer.applied(() => {
      set('a', '1');
      committer.tell(change('a'));
      return 'a';
    }),
    committer.durable(() => {
      set('b', '1');
      committer.tell(change('b'));
      throw new Error('a bug');
    }),
    committer.durable(() => {
      set('c', '1');
      committer.tell(change('c'));
      return 'c';
    }),
  ]);
  assert.deepEqual(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason.message)),
    ['a', 'a bug', 'c'],
  );
  assert.deepEqual([stored('a'), stored('b'), stored('c')], ['1', null, '1']);
  assert.deepEqual(heard, ['a', 'c']);
  assert.deepEqual(calls, ['forget', 'flush', 'forget', 'flush'], 'what was in memory is dropped with the transaction');
});

test('a listener that throws harms neither the change nor the other listeners', async (t) => {
  const { committer } = openCommitter(t);
  const heard: string[] = [];
  committer.subscribe(() => {
    throw new Error('a broken listener');
  });
  committer.subscribe((told) => heard.push(told.kind));
  // The error is thrown outside of any call, where the process hears of it.
  const thrown = t.mock.method(globalThis, 'queueMicrotask', () => {});
  await committer.durable(() => committer.tell(change('a')));
  assert.throws(thrown.mock.calls[0]?.arguments[0] ?? (() => {}), /a broken listener/);
  await committer.durable(() => committer.tell(change('b')));
  assert.deepEqual(heard, ['claimed', 'claimed']);
});

test('a change that a listener asks for comes in a later group', async (t) => {
  const { committer } = openCommitter(t);
  const order: string[] = [];
  const asked = Promise.withResolvers<void>();
  committer.subscribe(() => {
    if (order.includes('asked for')) return;
    committer.applied(() => order.push('asked for')).then(() => asked.resolve());
    order.push('heard');
  });
  await committer.applied(() => committer.tell(change('a')));
  await asked.promise;
  assert.deepEqual(order, ['heard', 'asked for']);
});

test('closing waits for what was begun, and nothing is begun after it', async (t) => {
  const { committer, set, stored } = openCommitter(t);
  const begun = committer.durable(() => set('a', '1'));
  const closed = committer.close();
  await assert.rejects(
    committer.applied(() => {}),
    /closed/,
  );
  await assert.rejects(
    committer.read(() => {}),
    /closed/,
  );
  await closed;
  assert.equal(await stateOf(begun), 'resolved');
  assert.equal(stored('a'), '1');
});

test('work that is read together sees what was applied, and leaves no transaction behind when it throws', async (t) => {
  const { committer, set, stored } = openCommitter(t);
  await committer.applied(() => set('a', '1'));
  assert.deepEqual(await committer.readTogether(() => [stored('a'), stored('b')]), ['1', null]);
  const failing = committer.readTogether(() => {
    stored('a');
    throw new Error('a bug');
  });
  await assert.rejects(failing, /a bug/);
  await committer.durable(() => set('b', '2'));
  assert.deepEqual(await committer.readTogether(() => [stored('a'), stored('b')]), ['1', '2']);
});
