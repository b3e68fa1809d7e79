import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ItemRecord } from '../../../src/domain/item.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import type { Ledger, RetryFilter } from '../../../src/ports/ledger.ts';
import { allItems, givenJob, jobOf, takeOut } from '../../contract/ledger/hands.ts';
import { operationOf } from '../../support/aws/aws-operation.ts';
import { jsonAnswer, type Relaying } from '../../support/aws/relay.ts';
import { failedWith, NOW, partOf, settlement } from '../../support/builders.ts';
import { openLedgerRoom } from './ledger-room.ts';

const room = openLedgerRoom();
const ALL: RetryFilter = { errorType: null, itemIds: null, groupKeys: null, preview: false };

/** A job in which every item failed. */
async function failedJob(ledger: Ledger, jobId: string, items: number, outcome: (seq: number) => Outcome) {
  await givenJob(ledger, { jobId, items, policy: { throttling: { max_concurrent_workers: 100 } } });
  for (;;) {
    const leases = await takeOut(ledger, jobId, { perBatch: 100 });
    if (leases.length === 0) break;
    const parts = leases.map((lease) => ({
      ...{ token: lease.token, jobId },
      items: lease.items.map((item) => settlement(item, outcome(item.seq))),
    }));
    await ledger.settle(parts, NOW);
  }
  assert.equal((await jobOf(ledger, jobId)).counts.failed, items);
}

/** How many were reopened by each of the calls that it takes. */
async function reopenAll(ledger: Ledger, jobId: string, filter: RetryFilter): Promise<number[]> {
  const steps: number[] = [];
  let after: string | null = null;
  do {
    const answer = await ledger.reopen(jobId, filter, { after, limit: 1000 }, 0, NOW);
    assert.ok('kind' in answer && answer.kind === 'reopened');
    steps.push(answer.items);
    after = answer.next;
  } while (after !== null);
  return steps;
}

function statuses(items: readonly ItemRecord[]): Record<string, number> {
  const groups = Map.groupBy(items, ({ status }) => status);
  return Object.fromEntries([...groups].map(([status, { length }]) => [status, length]));
}

/** Each item fails in a way of its own: digits would be taken for details of one and the same failure. */
const ownFailure = (seq: number) =>
  failedWith('timeout', `waited for ${'abcdefghij'[Math.floor(seq / 10) % 10]}${'abcdefghij'[seq % 10]}`);

test('hundreds of failed items that have chunks and a failure in common are reopened in one step', async () => {
  const { ledger } = await room.open();
  await failedJob(ledger, 'alike', 900, () => failedWith('timeout'));
  assert.deepEqual(await reopenAll(ledger, 'alike', ALL), [900]);
  assert.deepEqual(statuses(await allItems(ledger, 'alike')), { pending: 900 });
  assert.deepEqual(await ledger.failureGroups('alike', 10), []);
  assert.equal((await jobOf(ledger, 'alike')).counts.failed, 0);
});

test('items of which each has its own failure are reopened in as many steps as it takes, none left out', async () => {
  const { ledger } = await room.open();
  await failedJob(ledger, 'unlike', 100, ownFailure);
  assert.deepEqual(await reopenAll(ledger, 'unlike', ALL), [86, 14]);
  assert.deepEqual(statuses(await allItems(ledger, 'unlike')), { pending: 100 });
  assert.deepEqual(await ledger.failureGroups('unlike', 10), []);
});

test('named items from all over a job are reopened in as many steps as it takes, those named twice once', async () => {
  const { ledger } = await room.open();
  await givenJob(ledger, { jobId: 'spread', items: 4500, policy: { throttling: { max_concurrent_workers: 100 } } });
  const leases = await takeOut(ledger, 'spread', { perBatch: 100 });
  const byChunk = Map.groupBy(leases, ({ items }) => Math.floor((items[0]?.seq ?? 0) / 100));
  const firsts = [...byChunk].slice(0, 31).map(([chunk, [lease]]) => {
    assert.ok(lease?.items[0] !== undefined);
    return { lease, item: lease.items[0], outcome: ownFailure(chunk) };
  });
  assert.equal(firsts.length, 31);
  await ledger.settle(
    firsts.map(({ lease, item, outcome }) => partOf(lease, outcome, [item])),
    NOW,
  );
  const named = firsts.map(({ item }) => item.itemId).reverse();
  const itemIds = [...named.slice(0, 20), 'nobody', ...named];
  // Each is the only one of its chunk and of its group: three actions.
  assert.deepEqual(await reopenAll(ledger, 'spread', { ...ALL, itemIds, preview: true }), [29, 2]);
  assert.deepEqual(await reopenAll(ledger, 'spread', { ...ALL, itemIds }), [29, 2]);
  assert.equal((await jobOf(ledger, 'spread')).counts.failed, 0);
  const reopened = await Promise.all(named.map((itemId) => ledger.item('spread', itemId)));
  assert.deepEqual(new Set(reopened.map((item) => item?.status)), new Set(['pending']));
});

/**
 * DynamoDB applies a transaction row by row: what is read beside it may be the job as it is afterwards, and a chunk as it
 * was before. Here marks of reopened items do not show in the first answer to each of these operations.
 */
function behindWithMarks(...operations: readonly string[]): { relaying: Relaying; hidden: string[] } {
  const left = new Set(operations);
  const hidden: string[] = [];
  const relaying: Relaying = async (asked, forward) => {
    const answer = await forward(asked);
    const operation = operationOf('dynamo', asked);
    if (!left.has(operation) || !answer.body.includes('"R#')) return answer;
    left.delete(operation);
    hidden.push(operation);
    const isMark = (row: { sk?: { S?: string } }) => row.sk?.S?.startsWith('R#');
    const body = JSON.parse(answer.body.toString());
    if (body.Items !== undefined) body.Items = body.Items.filter((row: object) => !isMark(row));
    for (const [table, rows] of Object.entries<object[]>(body.Responses ?? {})) {
      body.Responses[table] = rows.filter((row) => !isMark(row));
    }
    return jsonAnswer(200, body);
  };
  return { relaying, hidden };
}

for (const operations of [['Query'], ['Query', 'BatchGetItem']]) {
  test(`a retry that reads the middle of another does not reopen its items twice (${operations.join(' and ')})`, async () => {
    const jobId = `twice-${operations.length}`;
    const { ledger } = await room.open();
    await failedJob(ledger, jobId, 12, () => failedWith('timeout'));
    const before = await jobOf(ledger, jobId);
    assert.deepEqual(await reopenAll(ledger, jobId, ALL), [12]);
    const { relaying, hidden } = behindWithMarks(...operations);
    const second = await room.open({}, relaying);
    assert.deepEqual(await reopenAll(second.ledger, jobId, ALL), [0]);
    assert.deepEqual(hidden, operations);
    const { counts } = await jobOf(ledger, jobId);
    assert.deepEqual([before.counts.failed, counts.failed, counts.total], [12, 0, 12]);
    const leases = await takeOut(ledger, jobId, { perBatch: 100 });
    const seqs = leases.flatMap(({ items }) => items.map(({ seq }) => seq));
    assert.deepEqual(
      seqs.toSorted((a, b) => a - b),
      Array.from({ length: 12 }, (_, seq) => seq),
    );
  });
}

test('items that were reopened by an older version are known as such', async () => {
  const { ledger } = await room.open();
  await failedJob(ledger, 'older', 3, () => failedWith('timeout'));
  assert.deepEqual(await reopenAll(ledger, 'older', { ...ALL, itemIds: ['p-1'] }), [1]);
  await room.renameMarks();
  assert.deepEqual(statuses(await allItems(ledger, 'older')), { failed: 2, pending: 1 });
  assert.deepEqual(await reopenAll(ledger, 'older', ALL), [2]);
  assert.deepEqual(statuses(await allItems(ledger, 'older')), { pending: 3 });
});

test('groups that an older version counted are read, counted on and retried', async () => {
  const { ledger } = await room.open();
  await failedJob(ledger, 'aged', 3, () => failedWith('timeout'));
  await room.ageGroups();
  const read = async () => {
    const [group] = await ledger.failureGroups('aged', 1);
    return [group?.count, group?.place, group?.firstAt, group?.lastAt];
  };
  assert.deepEqual(await read(), [3, null, null, null]);
  assert.deepEqual(await reopenAll(ledger, 'aged', { ...ALL, itemIds: ['p-1'] }), [1]);
  await failedAgain(ledger, 'aged');
  assert.deepEqual(await read(), [3, null, null, NOW + 10]);
  const [group] = await ledger.failureGroups('aged', 1);
  assert.deepEqual(await reopenAll(ledger, 'aged', { ...ALL, groupKeys: group?.keys ?? [] }), [3]);
});

async function failedAgain(ledger: Ledger, jobId: string): Promise<void> {
  for (const lease of await takeOut(ledger, jobId, { perBatch: 100 })) {
    await ledger.settle([partOf(lease, failedWith('timeout'))], NOW);
  }
}
