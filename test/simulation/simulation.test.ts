import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULT_KINDS } from './fault-plan.ts';
import { runSeed, type StoreKind } from './world.ts';

/** A violation is told with the command that shows it again. */
async function assertHealthy(seed: number, store: StoreKind): Promise<string> {
  const { violation, last, hash } = await runSeed({ seed, store });
  const story = last.map((line) => `  ${line}`).join('\n');
  assert.equal(
    violation,
    null,
    `seed ${seed}: ${violation}\n${story}\nreplay: npm run sim -- --seed ${seed} --store ${store} --trace`,
  );
  return hash;
}

test('300 seeds in memory, with faults of every kind: every invariant holds after every step, and every job ends', async () => {
  for (let seed = 1; seed <= 300; seed += 1) await assertHealthy(seed, 'memory');
});

test('25 seeds on the real SQLite ledger, with crashes of its owner and of the machine', async () => {
  for (let seed = 1; seed <= 25; seed += 1) await assertHealthy(seed, 'sqlite');
});

for (const store of ['memory', 'sqlite'] as const) {
  test(`the same seed gives the same run, and another one another (${store})`, async () => {
    const seeds = [101, 102, 103, 104, 105];
    const first: string[] = [];
    const second: string[] = [];
    for (const seed of seeds) first.push((await runSeed({ seed, store })).hash);
    for (const seed of seeds.toReversed()) second.unshift((await runSeed({ seed, store })).hash);
    assert.deepEqual(second, first);
    assert.equal(new Set(first).size, seeds.length);
  });
}

test('faults of every kind occur', async () => {
  const missing = new Set<string>(FAULT_KINDS);
  for (const store of ['memory', 'sqlite'] as const) {
    for (let seed = 301; seed <= (store === 'memory' ? 900 : 400) && missing.size > 0; seed += 1) {
      for (const kind of (await runSeed({ seed, store })).census.keys()) missing.delete(kind);
    }
  }
  assert.deepEqual([...missing], []);
});
