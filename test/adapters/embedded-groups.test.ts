import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { NewItem } from '../../src/domain/item.ts';
import { allItems, checkBooks, jobOf, takeOne } from '../contract/ledger/hands.ts';
import { NOW, newItems, newJob, partOf } from '../support/builders.ts';
import { dataDirOf, openIn } from './embedded-support.ts';

function grouped(items: readonly NewItem[], group: string): NewItem[] {
  return items.map((item) => ({ ...item, group }));
}

function groupRows(dataDir: string): number {
  const db = new DatabaseSync(join(dataDir, 'ledger.db'), { readOnly: true });
  const rows = Number(db.prepare('SELECT count(*) AS n FROM item_groups').get()?.['n']);
  db.close();
  return rows;
}

test('a run of items of one group is one row, over however many calls, and items without groups cost none', async (t) => {
  const dataDir = dataDirOf(t);
  const { ledger } = openIn(t, dataDir);
  await ledger.createJob(newJob(), newItems(500), NOW);
  assert.equal(groupRows(dataDir), 0);
  await ledger.addItems('job-1', grouped(newItems(300, { prefix: 'a' }), 'a'), 0, NOW);
  await ledger.addItems('job-1', grouped(newItems(300, { prefix: 'a', from: 300 }), 'a'), 0, NOW);
  assert.equal(groupRows(dataDir), 1);
  await ledger.addItems('job-1', newItems(1, { prefix: 'q' }), 0, NOW);
  await ledger.addItems('job-1', newItems(1, { prefix: 'r' }), 0, NOW);
  assert.equal(groupRows(dataDir), 2);
  const groups = (await allItems(ledger, 'job-1')).map(({ group = '-' }) => group);
  assert.equal(groups.join(''), `${'-'.repeat(500)}${'a'.repeat(600)}--`);
});

test('groups and batching outlive a restart, and so does what of a batch is not done', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const items = [...grouped(newItems(3, { prefix: 'a' }), 'a'), ...grouped(newItems(3, { prefix: 'b' }), 'b')];
  const batching = { by: 'group', maxItems: 3 } as const;
  await first.ledger.createJob(newJob({ batching, policy: { throttling: { max_concurrent_workers: 1 } } }), items, NOW);
  const lease = await takeOne(first.ledger, 'job-1');
  await first.ledger.settle([partOf(lease, undefined, lease.items.slice(0, 1))], NOW);
  await first.ledger.release(lease.token, 'drained', NOW);
  const before = await allItems(first.ledger, 'job-1');
  first.crash();

  const { ledger } = openIn(t, dataDir);
  assert.deepEqual((await jobOf(ledger, 'job-1')).batching, batching);
  assert.deepEqual(await allItems(ledger, 'job-1'), before);
  const again = await takeOne(ledger, 'job-1');
  assert.deepEqual(
    again.items.map(({ itemId }) => itemId),
    ['a-1', 'a-2'],
  );
});

test('a batch that is too large for one message is given out in parts, and no delivery of the rest is counted', async (t) => {
  const { ledger } = openIn(t, dataDirOf(t));
  const large = newItems(9).map((item) => ({ ...item, input: { text: 'x'.repeat(2 ** 20) }, group: 'a' }));
  const workers = { throttling: { max_concurrent_workers: 2 } };
  await ledger.createJob(newJob({ batching: { by: 'group', maxItems: 9 }, policy: workers }), large, NOW);
  const seen: string[][] = [];
  while ((await jobOf(ledger, 'job-1')).counts.success < large.length) {
    const lease = await takeOne(ledger, 'job-1');
    seen.push(lease.items.map(({ itemId }) => itemId));
    assert.ok(lease.items.every(({ attempt }) => attempt === 1));
    await checkBooks(ledger, 'job-1');
    assert.deepEqual(await ledger.claim([lease.ref, lease.ref], 'worker-1', lease.until, NOW), [lease, lease]);
    await ledger.settle([partOf(lease)], NOW);
  }
  assert.deepEqual(seen, [
    ['p-0', 'p-1', 'p-2'],
    ['p-3', 'p-4', 'p-5'],
    ['p-6', 'p-7', 'p-8'],
  ]);
});
