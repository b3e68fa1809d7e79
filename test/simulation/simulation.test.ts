import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sized } from '../support/sized.ts';
import { FAULT_KINDS } from './fault-plan.ts';
import { runSeed, type StoreKind } from './world.ts';

/** Kinds of faults that occurred in the runs of this file. */
const seen = new Set<string>();

/** A violation is reported with the command that reproduces it. */
async function assertHealthy(seed: number, store: StoreKind): Promise<string> {
  const { violation, last, hash, census } = await runSeed({ seed, store });
  for (const kind of census.keys()) seen.add(kind);
  const story = last.map((line) => `  ${line}`).join('\n');
  assert.equal(
    violation,
    null,
    `seed ${seed}: ${violation}\n${story}\nreplay: npm run sim -- --seed ${seed} --store ${store} --trace`,
  );
  return hash;
}

const SEEDS = sized({ quick: { memory: 25, sqlite: 4 }, slow: { memory: 300, sqlite: 25 } });

test(`${SEEDS.memory} seeds in memory, with faults of every kind: every invariant holds after every step, and every job ends`, async () => {
  for (let seed = 1; seed <= SEEDS.memory; seed += 1) await assertHealthy(seed, 'memory');
});

test(`${SEEDS.sqlite} seeds on the real SQLite ledger, with crashes of its owner and of the machine`, async () => {
  for (let seed = 1; seed <= SEEDS.sqlite; seed += 1) await assertHealthy(seed, 'sqlite');
});

for (const store of ['memory', 'sqlite'] as const) {
  test(`the same seed gives the same run, and another seed another run (${store})`, async () => {
    const seeds = sized({ quick: [101, 102], slow: [101, 102, 103, 104, 105] });
    const first: string[] = [];
    const second: string[] = [];
    for (const seed of seeds) first.push((await runSeed({ seed, store })).hash);
    for (const seed of seeds.toReversed()) second.unshift((await runSeed({ seed, store })).hash);
    assert.deepEqual(second, first);
    assert.equal(new Set(first).size, seeds.length);
  });
}

/** Runs that have what the first seeds lack, as found by the search below. It goes on from the start if that has changed. */
const RARE: readonly (readonly [seed: number, store: StoreKind])[] = [
  [329, 'sqlite'],
  [304, 'memory'],
  [304, 'sqlite'],
  [305, 'sqlite'],
  [318, 'sqlite'],
  [319, 'memory'],
  [321, 'memory'],
  [322, 'memory'],
];

test('faults of every kind occur', async () => {
  const missing = () => FAULT_KINDS.filter((kind) => !seen.has(kind));
  for (const [seed, store] of RARE) if (missing().length > 0) await assertHealthy(seed, store);
  // Look for those that the seeds above happen not to have, and for all of them when this test runs alone.
  for (let seed = 301; seed <= 600 && missing().length > 0; seed += 1) {
    for (const store of ['memory', 'sqlite'] as const) if (missing().length > 0) await assertHealthy(seed, store);
  }
  assert.deepEqual(missing(), []);
});
