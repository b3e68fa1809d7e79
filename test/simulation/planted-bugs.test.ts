import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sized } from '../support/sized.ts';
import type { Plant } from './plant.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import { KNOWN_SEEDS } from './planted-seeds.ts';
import { runSeed } from './world.ts';

/** The simulation tests only what it would not let pass: each of these mistakes must show within this many seeds. */
const MAX_SEEDS = 1000;

async function catchBug(plant: Plant): Promise<{ seed: number; violation: string } | null> {
  for (const seed of seedsFor(plant.name)) {
    const { violation } = await runSeed({ seed, store: 'memory', plant });
    if (violation !== null) return { seed, violation };
  }
  return null;
}

function* seedsFor(name: string): Generator<number> {
  const known = sized({ quick: KNOWN_SEEDS[name], slow: undefined });
  if (known !== undefined) yield known;
  for (let seed = 1; seed <= MAX_SEEDS; seed += 1) yield seed;
}

test('every known seed is one of a planted bug', () => {
  const names = new Set(PLANTED_BUGS.map(({ name }) => name));
  assert.deepEqual(
    Object.keys(KNOWN_SEEDS).filter((name) => !names.has(name)),
    [],
  );
});

for (const plant of PLANTED_BUGS) {
  test(`a planted bug is found: ${plant.name}`, async (t) => {
    const found = await catchBug(plant);
    assert.ok(found, `not found in ${MAX_SEEDS} seeds`);
    t.diagnostic(`seed ${found.seed}: ${found.violation.split('\n')[0]}`);
  });
}
