import assert from 'node:assert/strict';
import { test } from 'node:test';
import { admitFinds, wantedFinds, whenFound } from '../../src/domain/discovery.ts';
import { NO_DISCOVERY } from '../../src/domain/discovery-counts.ts';
import type { Found } from '../../src/domain/found.ts';
import type { NewItem } from '../../src/domain/item.ts';
import { type JobRecord, newJobRecord } from '../../src/domain/job.ts';
import { NOW, newItems, newJob } from '../support/builders.ts';

function job(discovery: { max_depth?: number; max_items?: number } = {}, more: Partial<JobRecord> = {}): JobRecord {
  return { ...newJobRecord(newJob({ policy: { discovery } }), 1, NOW, 'inc'), status: 'in_progress', ...more };
}

function found(count: number, depth = 1): Found {
  return { items: newItems(count, { prefix: `d${depth}` }).map((item): NewItem => ({ ...item, depth })) };
}

function take(to: JobRecord, finds: readonly Found[], known: { index: number; differs: boolean }[] = []) {
  const wanted = wantedFinds(to, finds);
  return admitFinds(
    to,
    wanted,
    known.map((one) => ({ first: 0, ...one })),
  );
}

test('what is found is added, and every entry is counted once', () => {
  const known = [
    { index: 0, differs: false },
    { index: 2, differs: true },
  ];
  const { items, counts } = take(job(), [{ ...found(4), invalid: 2, beyond: 3 }], known);
  assert.deepEqual(
    items.map(({ itemId, depth }) => [itemId, depth]),
    [
      ['d1-1', 1],
      ['d1-3', 1],
    ],
  );
  assert.deepEqual(counts, { added: 2, duplicates: 1, conflicts: 1, tooDeep: 0, overLimit: 3, invalid: 2 });
});

test('items further from the submitted ones than max_depth are not added', () => {
  const { items, counts } = take(job({ max_depth: 2 }), [found(2, 2), found(3, 3)]);
  assert.deepEqual(
    items.map(({ depth }) => depth),
    [2, 2],
  );
  assert.deepEqual([counts.added, counts.tooDeep], [2, 3]);
  assert.deepEqual(take(job({ max_depth: 0 }), [found(2)]).counts, { ...NO_DISCOVERY, tooDeep: 2 });
});

test('no more items are added than max_items, over the whole life of the job', () => {
  const first = take(job({ max_items: 3 }), [found(2)]);
  const after = whenFound(job({ max_items: 3 }), first.counts);
  const second = take(after, [found(4, 2)]);
  assert.deepEqual([second.items.length, second.counts.overLimit], [1, 3]);
  const lowered = job({ max_items: 1 }, { discovery: { ...NO_DISCOVERY, added: 3 } });
  assert.deepEqual(take(lowered, [found(2)]).counts, { ...NO_DISCOVERY, overLimit: 2 });
});

test('a cancelled job, one that is being deleted, a plan and a re-extraction take nothing, and count it', () => {
  const closed: Partial<JobRecord>[] = [
    { status: 'cancelled' },
    { removing: 'asked' },
    { extracts: 'another' },
    { plan: { items: 1, bytes: 1 } as unknown as NonNullable<JobRecord['plan']> },
  ];
  for (const more of closed) {
    assert.deepEqual(take(job({}, more), [{ ...found(2), beyond: 1 }]), {
      items: [],
      counts: { ...NO_DISCOVERY, overLimit: 3 },
    });
  }
  for (const status of ['paused', 'failed'] as const)
    assert.equal(take(job({}, { status }), [found(2)]).items.length, 2);
});

test('the total of the job grows with what is added, and the counts add up', () => {
  const one = whenFound(job(), { ...NO_DISCOVERY, added: 2, invalid: 1 });
  const two = whenFound(one, { ...NO_DISCOVERY, added: 1, duplicates: 4 });
  assert.equal(two.counts.total, 4);
  assert.deepEqual(two.discovery, { ...NO_DISCOVERY, added: 3, duplicates: 4, invalid: 1 });
});
