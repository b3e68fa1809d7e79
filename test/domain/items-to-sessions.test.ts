import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type DistributionOptions,
  type DistributionStrategy,
  domainOf,
  itemsToSessions,
  type ScrapeRunItem,
} from '../../src/domain/items-to-sessions.ts';

/** `a1` is the first item of domain a; `x` is done. */
function items(names: string): ScrapeRunItem[] {
  return names
    .split(' ')
    .filter((name) => name !== '')
    .map((name) => ({ url: `https://${name[0]}.example/${name}`, done: name.startsWith('x') }));
}

function sessions(count: number) {
  return Array.from({ length: count }, (_, at) => ({ provider: 'local', local: { id: `s${at}` } }));
}

function given(names: string, count: number, options?: DistributionOptions): string {
  const results = itemsToSessions(items(names), sessions(count), options);
  return results.map((each) => each.items.map(({ url }) => url.split('/').at(-1)).join(' ')).join(' · ');
}

const SOME = 'a1 a2 x a3 b1 b2 c1';

const CASES: readonly [what: string, result: string, names: string, sessions: number, options?: DistributionOptions][] =
  [
    ['round-robin, 2 sessions', 'a1 a3 b2 · a2 b1 c1', SOME, 2, { strategy: 'round-robin' }],
    ['no strategy, which is round-robin', 'a1 a3 b2 · a2 b1 c1', SOME, 2],
    ['domain-affinity, 2 sessions', 'a1 a2 a3 · b1 b2 c1', SOME, 2, { strategy: 'domain-affinity' }],
    ['domain-affinity, 3 sessions', 'a1 a2 a3 · b1 b2 · c1', SOME, 3, { strategy: 'domain-affinity' }],
    ['domain-affinity, one domain', 'a1 a2 a3 · ', 'a1 a2 a3', 2, { strategy: 'domain-affinity' }],
    [
      'domain-affinity with a cap, of which the rest goes to the next session',
      'a1 a2 · a3 c1 · b1 b2',
      SOME,
      3,
      { strategy: 'domain-affinity', maxItemsPerSession: 2 },
    ],
    [
      'least-loaded, loads 5 0 2',
      ' · a1 a2 a3 b2 · b1 c1',
      SOME,
      3,
      { strategy: 'least-loaded', loads: { s0: 5, s1: 0, s2: 2 } },
    ],
    ['least-loaded without loads', 'a1 a3 b2 · a2 b1 c1', SOME, 2, { strategy: 'least-loaded' }],
    ['max 2, round-robin', 'a1 a3 · a2 b1', SOME, 2, { maxItemsPerSession: 2 }],
    ['max 0', ' · ', SOME, 2, { maxItemsPerSession: 0 }],
    ['prioritizeDomains', 'c1 b1 b2 a1 a2 a3', SOME, 1, { prioritizeDomains: ['c.example', 'www.b.example'] }],
    [
      'prioritizeDomains with affinity: before those that are larger',
      'c1 b1 b2 · a1 a2 a3',
      SOME,
      2,
      { strategy: 'domain-affinity', prioritizeDomains: ['C.example'] },
    ],
    ['no items', ' · ', '', 2],
    ['none pending', ' · ', 'x1 x2', 2],
    ['no sessions', '', SOME, 0],
    ['one session', 'a1 a2 a3 b1 b2 c1', SOME, 1, { strategy: 'least-loaded' }],
    ['one session to its cap', 'a1 a2', SOME, 1, { maxItemsPerSession: 2 }],
  ];

for (const [what, expected, names, count, options] of CASES) {
  test(`${what}: ${expected}`, () => {
    assert.equal(given(names, count, options), expected);
  });
}

test('200 items of one domain over 4 sessions with at most 50: 50 each', () => {
  const many = Array.from({ length: 200 }, (_, at) => ({ url: `https://a.example/${at}`, done: false }));
  const results = itemsToSessions(many, sessions(4), { strategy: 'domain-affinity', maxItemsPerSession: 50 });
  assert.deepEqual(
    results.map((each) => each.items.length),
    [50, 50, 50, 50],
  );
});

test('the domain of an item is its host without www, and what is not an address is a domain of its own', () => {
  assert.equal(domainOf('https://www.County.gov/x?y'), 'county.gov');
  assert.equal(domainOf('https://tax.county.gov:8443/'), 'tax.county.gov');
  assert.equal(domainOf('not an address'), 'not an address');
});

const STRATEGIES: readonly DistributionStrategy[] = ['round-robin', 'domain-affinity', 'least-loaded'];
const anItem = fc.record({
  url: fc
    .tuple(fc.constantFrom('a', 'b', 'www.b', 'c', 'd'), fc.nat(5))
    .map(([host, n]) => `https://${host}.example/${n}`),
  done: fc.boolean(),
});
const aCase = fc.record({
  items: fc.array(anItem, { maxLength: 60 }),
  count: fc.nat(6),
  cap: fc.option(fc.nat(12), { nil: undefined }),
  loads: fc.array(fc.nat(20), { minLength: 6, maxLength: 6 }),
  first: fc.subarray(['a.example', 'b.example', 'c.example']),
});

function distribute(strategy: DistributionStrategy, each: typeof aCase extends fc.Arbitrary<infer T> ? T : never) {
  const loads = Object.fromEntries(each.loads.map((load, at) => [`s${at}`, load]));
  const options = {
    ...{ strategy, loads, prioritizeDomains: each.first },
    ...(each.cap === undefined ? {} : { maxItemsPerSession: each.cap }),
  };
  const given = sessions(each.count);
  const results = itemsToSessions(each.items, given, options);
  return { results, given, room: each.cap ?? Number.POSITIVE_INFINITY };
}

for (const strategy of STRATEGIES) {
  test(`${strategy}: a result for each session in order, no item lost while there is room, none doubled, none done`, () => {
    fc.assert(
      fc.property(aCase, (each) => {
        const { results, given, room } = distribute(strategy, each);
        assert.deepEqual(
          results.map(({ session }) => session),
          given,
        );
        const all = results.flatMap((result) => result.items);
        const pending = each.items.filter(({ done }) => !done);
        assert.equal(new Set(all).size, all.length, 'doubled');
        assert.ok(
          all.every((item) => pending.includes(item)),
          'done, or from nowhere',
        );
        assert.equal(all.length, Math.min(pending.length, given.length === 0 ? 0 : room * given.length), 'lost');
        assert.ok(
          results.every((result) => result.items.length <= room),
          'over the cap',
        );
      }),
    );
  });
}

test('round-robin: loads differ by at most one', () => {
  fc.assert(
    fc.property(aCase, (each) => {
      const sizes = distribute('round-robin', each).results.map((result) => result.items.length);
      assert.ok(sizes.length === 0 || Math.max(...sizes) - Math.min(...sizes) <= 1);
    }),
  );
});

test('domain-affinity: a domain stays together unless no session had room for all of it', () => {
  fc.assert(
    fc.property(aCase, (each) => {
      const { results, room } = distribute('domain-affinity', each);
      const pending = each.items.filter(({ done }) => !done);
      for (const [domain, group] of Map.groupBy(pending, ({ url }) => domainOf(url))) {
        const holders = results.filter((result) => result.items.some(({ url }) => domainOf(url) === domain));
        if (holders.length <= 1) continue;
        assert.ok(
          results.every((result) => room - result.items.length < group.length),
          `${domain} would have had room`,
        );
        assert.ok(holders.filter((result) => result.items.length < room).length <= 1, `${domain} in too many pieces`);
      }
      if (each.cap === undefined) {
        const domains = results.map((result) => new Set(result.items.map(({ url }) => domainOf(url))));
        const total = domains.reduce((sum, set) => sum + set.size, 0);
        assert.equal(total, results.length === 0 ? 0 : new Set(pending.map(({ url }) => domainOf(url))).size);
      }
    }),
  );
});

test('least-loaded: nothing goes to a session while a freer one has room', () => {
  fc.assert(
    fc.property(aCase, (each) => {
      const { results, room } = distribute('least-loaded', each);
      const before = results.map((_, at) => each.loads[at] ?? 0);
      const after = results.map((result, at) => (before[at] ?? 0) + result.items.length);
      for (const [to, result] of results.entries()) {
        if (result.items.length === 0) continue;
        // Just before its last item, no other that still has room at the end was freer.
        const itsLoad = (after[to] ?? 0) - 1;
        for (const [other, { items: others }] of results.entries()) {
          if (others.length < room) assert.ok((after[other] ?? 0) >= itsLoad, `${to} before ${other}`);
        }
      }
    }),
  );
});
