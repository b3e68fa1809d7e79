import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type BatchLimits, type PendingRun, planBatches, splitByGroup } from '../../src/domain/batching.ts';
import { kindWhenBack, PENDING_ORDER, type PendingKind } from '../../src/domain/pending-order.ts';

interface Run extends PendingRun {
  readonly name: number;
}

/** Every planned item as `<run>.<place in the run>`, batch by batch. */
function carryOut(runs: readonly Run[], limits: Omit<BatchLimits, 'items'> & Partial<BatchLimits>) {
  const taken = new Map<Run, number>();
  return planBatches(runs, { items: 1000, ...limits }).map(({ suspect, lot, group, parts }) => {
    const items = parts.flatMap(({ run, count }) => {
      const from = taken.get(run) ?? 0;
      taken.set(run, from + count);
      return Array.from({ length: count }, (_, index) => ({ run, place: from + index }));
    });
    return { suspect, lot, group, items };
  });
}

function runOf(kind: PendingKind, count: number, lot = 0): Run {
  return { kind, lot, group: null, count, name: 0 };
}

function groupRun(group: string | null, count: number, kind: PendingKind = 'fresh'): Run {
  return { kind, lot: 0, group, count, name: 0 };
}

const sizes = (runs: readonly Run[], batches: number, itemsPerBatch: number) =>
  carryOut(runs, { batches, itemsPerBatch }).map(({ suspect, items }) => [
    suspect,
    ...items.map(({ run }) => run.kind),
  ]);

test('suspects go first and by themselves, then what came back, then what was never out', () => {
  const runs = [runOf('fresh', 3), runOf('returned', 1), runOf('suspect', 1)];
  assert.deepEqual(sizes(runs, 9, 2), [
    [true, 'suspect'],
    [false, 'returned', 'fresh'],
    [false, 'fresh', 'fresh'],
  ]);
});

test('an item that came back is a suspect if it has a strike', () => {
  assert.deepEqual([0, 1, 2].map(kindWhenBack), ['returned', 'suspect', 'suspect']);
});

test('items of different lots never share a batch', () => {
  const runs = [runOf('returned', 1, 4), runOf('returned', 1, 5), runOf('fresh', 2, 5)];
  assert.deepEqual(
    carryOut(runs, { batches: 9, itemsPerBatch: 10 }).map(({ lot, items }) => [lot, items.length]),
    [
      [4, 1],
      [5, 3],
    ],
  );
});

test('a batch holds neighbours of one group, at most so many, and those without a group by themselves', () => {
  const runs = [groupRun('a', 5), groupRun('b', 2), groupRun(null, 1), groupRun('a', 1)];
  assert.deepEqual(
    carryOut(runs, { batches: 9, itemsPerBatch: 3 }).map(({ group, items }) => [group, items.length]),
    [
      ['a', 3],
      ['a', 2],
      ['b', 2],
      [null, 1],
      ['a', 1],
    ],
  );
});

test('what came back shares a batch with what was never out, if both are of one group', () => {
  const runs = [groupRun('b', 2, 'returned'), groupRun('b', 2), groupRun('c', 1)];
  assert.deepEqual(
    carryOut(runs, { batches: 9, itemsPerBatch: 3 }).map(({ group, items }) => [group, items.length]),
    [
      ['b', 3],
      ['b', 1],
      ['c', 1],
    ],
  );
});

test('no more items go out together than are allowed, also where that cuts the last batch', () => {
  const runs = [groupRun('a', 4), groupRun('b', 4)];
  assert.deepEqual(
    carryOut(runs, { batches: 9, itemsPerBatch: 4, items: 6 }).map(({ items }) => items.length),
    [4, 2],
  );
  assert.deepEqual(carryOut(runs, { batches: 9, itemsPerBatch: 4, items: 0 }), []);
});

test('splitting a list by group keeps its order and every item, and no two neighbours are of one group', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', null)), (groups) => {
      const items = groups.map((group, place) => ({ group, place }));
      const parts = splitByGroup(items, ({ group }) => group);
      assert.deepEqual(
        parts.flatMap((part) => part.items),
        items,
      );
      for (const [index, { group, items: some }] of parts.entries()) {
        assert.ok(some.length > 0 && some.every((item) => item.group === group));
        assert.notEqual(group, parts[index + 1]?.group);
      }
    }),
  );
});

const anyRuns = fc
  .array(
    fc.record({
      kind: fc.constantFrom(...PENDING_ORDER),
      lot: fc.nat(2),
      group: fc.constantFrom('a', 'b', null),
      count: fc.nat(7),
    }),
    { maxLength: 8 },
  )
  .map((runs) => runs.map((run, name): Run => ({ ...run, name })));

test('no batch is empty, too large, of two lots or groups or of suspects and others, and there are not too many', () => {
  fc.assert(
    fc.property(
      anyRuns,
      fc.nat(6),
      fc.integer({ min: 1, max: 5 }),
      fc.nat(30),
      (runs, batches, itemsPerBatch, most) => {
        const planned = carryOut(runs, { batches, itemsPerBatch, items: most });
        assert.ok(planned.length <= batches);
        assert.ok(planned.flatMap(({ items }) => items).length <= most);
        for (const { suspect, lot, group, items } of planned) {
          assert.ok(items.length > 0 && items.length <= itemsPerBatch);
          for (const { run } of items) {
            assert.equal(run.lot, lot);
            assert.equal(run.group, group);
            assert.equal(run.kind === 'suspect', suspect);
          }
        }
      },
    ),
  );
});

test('every item goes out once, in the order of its kind and then of the list, as far as there is room', () => {
  fc.assert(
    fc.property(anyRuns, fc.nat(6), fc.integer({ min: 1, max: 5 }), (runs, batches, itemsPerBatch) => {
      const nameOf = ({ run, place }: { run: Run; place: number }) => `${run.name}.${place}`;
      const inOrder = PENDING_ORDER.flatMap((kind) => runs.filter((run) => run.kind === kind)).flatMap((run) =>
        Array.from({ length: run.count }, (_, place) => nameOf({ run, place })),
      );
      const some = carryOut(runs, { batches, itemsPerBatch }).flatMap(({ items }) => items.map(nameOf));
      assert.deepEqual(some, inOrder.slice(0, some.length));
      const all = carryOut(runs, { batches: 1000, itemsPerBatch }).flatMap(({ items }) => items.map(nameOf));
      assert.deepEqual(all, inOrder);
    }),
  );
});
