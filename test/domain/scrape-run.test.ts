import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  afterItemChanges,
  afterRunChange,
  countItemChange,
  MAX_REASON_LENGTH,
  NO_RUN_COUNTS,
  newRunItem,
  pendingOf,
  type RunItem,
  type RunRecord,
  runItemState,
} from '../../src/domain/scrape-run.ts';

const ITEM = newRunItem('https://example.com/');
const flag = fc.option(fc.boolean(), { nil: undefined });
const changes = fc.record({
  done: flag,
  failed: flag,
  invalid: flag,
  failedReason: fc.option(fc.string(), { nil: undefined }),
});

test('only the fields that are given change, and what counts follows from the flags', () => {
  const failed = afterItemChanges(ITEM, { failed: true, failedReason: 'status 500' });
  assert.deepEqual(failed, { ...ITEM, failed: true, failedReason: 'status 500' });
  assert.equal(runItemState(failed), 'failed');
  assert.equal(runItemState(afterItemChanges(failed, { invalid: true })), 'invalid');
  assert.equal(runItemState(afterItemChanges(failed, { done: true })), 'completed');
  assert.equal(afterItemChanges(failed, { failed: true }), failed);
  assert.equal(afterItemChanges(failed, {}), failed);
  assert.deepEqual(afterItemChanges(failed, { failed: false, failedReason: null }), ITEM);
});

test('a long reason is cut, and can still be stored', () => {
  const reason = `${'x'.repeat(MAX_REASON_LENGTH - 1)}\u{1F600}`;
  const { failedReason } = afterItemChanges(ITEM, { failedReason: reason });
  assert.equal(failedReason?.length, MAX_REASON_LENGTH);
  assert.ok(failedReason?.isWellFormed());
});

test('a change that is repeated changes nothing, and counts stay those of the items', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(3), changes)), (all) => {
      const items: RunItem[] = [ITEM, ITEM, ITEM, ITEM];
      let counts = { ...NO_RUN_COUNTS, total: 4 };
      for (const [at, change] of all) {
        const before = items[at] ?? ITEM;
        const after = afterItemChanges(before, change);
        assert.equal(afterItemChanges(after, change), after);
        counts = countItemChange(counts, before, after);
        items[at] = after;
      }
      const counted = (state: string) => items.filter((item) => runItemState(item) === state).length;
      assert.deepEqual(counts, {
        ...{ total: 4, completed: counted('completed') },
        ...{ failed: counted('failed'), invalid: counted('invalid') },
      });
      assert.equal(pendingOf(counts), counted('pending'));
    }),
  );
});

test('a run ends once, keeps its first end, and is the same run when nothing changes', () => {
  const run: RunRecord = {
    ...{ id: 'r', domain: 'example.com', source: null, startedAt: 1, metadata: {}, status: 'processing' },
    ...{ endedAt: null, createdAt: 1, updatedAt: 1, counts: NO_RUN_COUNTS },
  };
  assert.equal(afterRunChange(run, { kind: 'reopen' }, 9), run);
  const end = { kind: 'end', status: 'completed', endedAt: 5, metadata: { total_count: 0 } } as const;
  const ended = afterRunChange(run, end, 6);
  assert.deepEqual(ended, { ...run, status: 'completed', endedAt: 5, metadata: { total_count: 0 }, updatedAt: 6 });
  assert.equal(afterRunChange(ended, { ...end, status: 'failed', endedAt: 8 }, 9), ended);
  assert.deepEqual(afterRunChange(ended, { kind: 'reopen' }, 9), {
    ...{ ...ended, status: 'processing', endedAt: null, updatedAt: 9 },
  });
});
