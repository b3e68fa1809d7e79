import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeRuns, encodeRuns, partsFor, planMerge, type RunRef } from '../../../src/adapters/aws/ids/id-run.ts';

/** The runs of a job to which chunks of these sizes were added, and what was written for it by then. */
function added(sizes: readonly number[]): { readonly runs: readonly RunRef[]; readonly written: number } {
  let runs: readonly RunRef[] = [];
  let written = 0;
  for (const [index, size] of sizes.entries()) {
    const { kept, merged, level } = planMerge(runs, size);
    const from = kept.at(-1)?.to ?? 0;
    const to = (runs.at(-1)?.to ?? 0) + size;
    assert.deepEqual([...kept, ...merged], runs);
    written += to - from;
    runs = [...kept, { id: `r${index}`, from, to, level, parts: partsFor(to - from) }];
  }
  return { runs, written };
}

test('sixteen runs of one level become one of the next, and a whole cascade is written once', () => {
  assert.deepEqual(added(Array(15).fill(1)).runs.length, 15);
  assert.deepEqual(added(Array(16).fill(1)).runs, [{ id: 'r15', from: 0, to: 16, level: 1, parts: 1 }]);
  assert.equal(added(Array(255).fill(1)).runs.length, 30);
  assert.deepEqual(added(Array(256).fill(1)).runs, [{ id: 'r255', from: 0, to: 256, level: 2, parts: 1 }]);
  // 15 · 16 chunks for themselves, 15 merges of 16, and one of all.
  assert.equal(added(Array(256).fill(1)).written, 15 * 16 + 15 * 16 + 256);
});

test('runs stay few, and no merge becomes so large that the addition that makes it takes long', () => {
  const million = added(Array(1000).fill(1000)).runs;
  assert.deepEqual([million.length, million.at(-1)?.to], [3 + 14 + 8, 1_000_000]);
  const tenMillion = added(Array(10_000).fill(1000)).runs;
  assert.equal(tenMillion.length, 39 + 1 + 0);
  assert.ok(tenMillion.every(({ from, to }) => to - from <= 400_000));
  // The first ten thousand of a job come at once, and do not keep what follows from being merged.
  assert.ok(added([10_000, ...Array(990).fill(1000)]).runs.length <= 3 + 15 + 15);
  assert.ok(added(Array(100).fill(10_000)).runs.length <= 6 + 15);
});

test('a list of runs is written compactly, and read back unchanged', () => {
  const { runs } = added([5, 7, 2500, ...Array(20).fill(3)]);
  assert.deepEqual(decodeRuns(encodeRuns(runs)), runs);
  assert.deepEqual(decodeRuns(encodeRuns([])), []);
  assert.throws(() => decodeRuns('[]'), /not a list of id runs/);
});
