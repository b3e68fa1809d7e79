import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { repeatedItems } from '../../src/domain/item.ts';
import { SeenIds } from '../../src/domain/seen-ids.ts';
import { sized } from '../support/sized.ts';

const digest = (text: string) => hash('sha256', text);

test('ids that were given before are found, with their first line and whether the input differs, as for a new job', () => {
  const entry = fc.record({ itemId: fc.constantFrom('a', 'b', 'c', 'd'), input: fc.record({ n: fc.nat(2) }) });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 30 }), (items) => {
      const seen = new SeenIds(digest);
      const found = items.flatMap((item, index) => {
        const before = seen.add(item, index + 1);
        return before === null ? [] : [{ index, first: before.firstLine - 1, differs: before.differs }];
      });
      assert.deepEqual(found, repeatedItems(items));
    }),
  );
});

test('the order of the fields does not make two inputs different', () => {
  const seen = new SeenIds(digest);
  assert.equal(seen.add({ itemId: 'a', input: { x: 1, y: 2 } }, 1), null);
  assert.deepEqual(seen.add({ itemId: 'a', input: { y: 2, x: 1 } }, 9), { firstLine: 1, differs: false });
});

const LINES = sized({ quick: 5_000, slow: 20_000 });

test('nothing is lost while the table grows', () => {
  const seen = new SeenIds(digest);
  for (let line = 1; line <= LINES; line += 1)
    assert.equal(seen.add({ itemId: `p-${line}`, input: { line } }, line), null);
  for (let line = 1; line <= LINES; line += 1)
    assert.deepEqual(seen.add({ itemId: `p-${line}`, input: { line } }, 99_999), { firstLine: line, differs: false });
  assert.equal(seen.count, LINES);
});

test('a list longer than what may be kept is compared with its beginning', () => {
  const seen = new SeenIds(digest, 2);
  for (const itemId of ['a', 'b', 'c', 'c']) assert.equal(seen.add({ itemId, input: {} }, 1), null);
  assert.deepEqual(seen.add({ itemId: 'b', input: {} }, 5), { firstLine: 1, differs: false });
  assert.equal(seen.count, 2);
});
