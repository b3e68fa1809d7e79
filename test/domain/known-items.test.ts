import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ITEM_STATUSES, type ItemStatus, type NewItem } from '../../src/domain/item.ts';
import { sortKnownItems, takesInput } from '../../src/domain/known-items.ts';

const OLD = { apn: 'old' };

function item(itemId: string, apn: string): NewItem {
  return { itemId, input: { apn } };
}

/** The job has `x` at place 7, with the old input. */
function sorted(items: readonly NewItem[], status: ItemStatus) {
  const known = items.flatMap(({ itemId, input }, index) =>
    itemId === 'x' ? [{ index, first: 7, differs: input['apn'] !== OLD.apn }] : [],
  );
  const { duplicates, replacing, differing } = sortKnownItems(items, known, () => status);
  return { duplicates, replaced: replacing.map(({ index, first }) => [index, first]), differing };
}

test('only a failed item takes another input', () => {
  assert.deepEqual(ITEM_STATUSES.filter(takesInput), ['failed']);
  for (const status of ITEM_STATUSES) {
    const expected = status === 'failed' ? { replaced: [[1, 7]], differing: [] } : { replaced: [], differing: [1] };
    assert.deepEqual(sorted([item('y', 'a'), item('x', 'a')], status), { duplicates: [1], ...expected }, status);
  }
});

test('the same input replaces nothing and differs from nothing', () => {
  assert.deepEqual(sorted([item('x', 'old')], 'failed'), { duplicates: [0], replaced: [], differing: [] });
});

test('for an id that occurs twice the first counts, and the others are compared with it', () => {
  const list = [item('x', 'a'), item('x', 'old'), item('x', 'b'), item('x', 'a')];
  assert.deepEqual(sorted(list, 'failed'), { duplicates: [0, 1, 2, 3], replaced: [[0, 7]], differing: [1, 2] });
  const same = [item('x', 'old'), item('x', 'a')];
  assert.deepEqual(sorted(same, 'failed'), { duplicates: [0, 1], replaced: [], differing: [1] });
});

test('an item that the same list adds keeps its input, whatever became of it meanwhile', () => {
  const list = [item('x', 'a'), item('x', 'b')];
  const known = [{ index: 1, first: 0, differs: true }];
  const { replacing, differing } = sortKnownItems(list, known, () => 'failed');
  assert.deepEqual({ replacing, differing }, { replacing: [], differing: [1] });
});
