import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type DistributionStrategy, itemsToSessions, type ScrapeRunItem } from '../../src/domain/items-to-sessions.ts';
import { sessionWaves } from '../../src/domain/session-waves.ts';
import { sized } from '../support/sized.ts';

const STRATEGIES: readonly DistributionStrategy[] = ['round-robin', 'domain-affinity', 'least-loaded'];

test('waves are what itemsToSessions assigns when it is asked again until nothing is left', () => {
  const urls = fc.uniqueArray(fc.tuple(fc.constantFrom(...'abcdef'), fc.nat(40)), { selector: String, maxLength: 60 });
  fc.assert(
    fc.property(
      urls,
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom(...STRATEGIES),
      (names, sessions, maxItemsPerSession, strategy) => {
        const items = names.map(([domain, page]) => ({ url: `https://${domain}.example/${page}`, done: false }));
        const waves = [...sessionWaves(items, { sessions, strategy, maxItemsPerSession })];
        assert.deepEqual(waves, askedAgain(items, sessions, { strategy, maxItemsPerSession }));
        assert.equal(waves.flat(2).length, items.length);
      },
    ),
  );
});

const MANY = sized({ quick: 20_000, slow: 100_000 });

test(`${MANY} items of ${MANY / 10} domains take one pass, not one for each wave`, () => {
  const items = Array.from({ length: MANY }, (_, at) => ({
    url: `https://d${at % (MANY / 10)}.example/${at}`,
    done: false,
  }));
  let waves = 0;
  const seen = new Set<string>();
  for (const wave of sessionWaves(items, { sessions: 3, strategy: 'domain-affinity', maxItemsPerSession: 50 })) {
    waves += 1;
    for (const { url } of wave.flat()) seen.add(url);
  }
  assert.deepEqual([waves, seen.size], [Math.ceil(MANY / 150), MANY]);
});

function askedAgain(
  items: readonly ScrapeRunItem[],
  count: number,
  options: { readonly strategy: DistributionStrategy; readonly maxItemsPerSession: number },
) {
  const sessions = Array.from({ length: count }, (_, at) => ({ id: String(at) }));
  const waves = [];
  for (let left = items; left.length > 0; ) {
    const wave = itemsToSessions(left, sessions, options).map(({ items: own }) => own);
    waves.push(wave);
    const taken = new Set(wave.flat());
    left = left.filter((item) => !taken.has(item));
  }
  return waves;
}
