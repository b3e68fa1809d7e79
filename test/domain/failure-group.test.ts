import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ArtifactKind } from '../../src/domain/artifact.ts';
import { failure } from '../../src/domain/failure.ts';
import {
  addToGroup,
  bestExamples,
  chooseGroup,
  commonestGroups,
  countedIn,
  emptyGroup,
  type FailureGroup,
  failurePattern,
  groupKey,
  groupOf,
  MAX_EXAMPLES,
  MAX_GROUPS,
  newExamples,
  newFailure,
  OTHER_PATTERN,
  otherGroup,
  removeFromGroup,
} from '../../src/domain/failure-group.ts';
import { encodeLayout } from '../../src/domain/page-layout.ts';
import { storedArtifact } from '../support/builders.ts';
import { anyText } from './builders.ts';

const pattern = (message: string) => failurePattern(failure('unexpected', message));

test('numbers and what contains them are particulars', () => {
  assert.equal(pattern('parcel 101-01-001A not found'), 'parcel # not found');
  assert.equal(pattern('answered 503 after 1200 ms'), 'answered # after # ms');
  assert.equal(pattern('element #row-17 is missing'), 'element ## is missing');
});

test('addresses and quoted texts are particulars', () => {
  assert.equal(pattern('GET https://example.test/p?id=7 failed'), 'GET <url> failed');
  assert.equal(pattern('no element "td.owner" here'), 'no element <…> here');
  assert.equal(pattern("no element `a` and 'b'"), 'no element <…> and <…>');
});

test('amounts, dates, paths, lists of numbers and plurals are particulars', () => {
  assert.equal(pattern('paid $1,234.56 on 2026-11-17T10:00:00Z'), 'paid $# on #');
  assert.equal(pattern('paid $7 on 17/11/2026'), 'paid $# on #');
  assert.equal(
    pattern('led to another page than /parcel/ABC-DEF (text/html)'),
    'led to another page than <path> (text/html)',
  );
  assert.equal(pattern('rows 1, 2, 3 are empty'), pattern('rows 4 are empty'));
  assert.equal(pattern('1 row, 2 addresses'), pattern('17 rows, 2 addresses'));
  assert.equal(pattern('took 5 ms'), 'took # ms');
});

test('a quoted text may hold quotes, and an apostrophe quotes nothing', () => {
  const titled = (title: string) =>
    pattern(`#owner is not on the page (title ${JSON.stringify(title)}, https://a.test)`);
  assert.equal(titled('THE "BLUE" TRUST'), titled("O'BRIEN's"));
  assert.equal(pattern("the site's page is 'new' (“old”)"), "the site's page is <…> (<…>)");
});

test('a problem that a schema finds in many rows is one', () => {
  const problems = (rows: number) =>
    Array.from({ length: rows }, (_, row) => `bills.${row}.amount: not a number`).join('; ');
  assert.equal(pattern(problems(12)), pattern(problems(1)));
  assert.equal(pattern(problems(200)), pattern(problems(1)), 'also where the message was cut');
  assert.equal(pattern(`${problems(2)}; owner: empty`), 'bills.#.amount: not a number; owner: empty');
});

test('white space does not make another problem', () => {
  assert.equal(pattern('  no \n\t answer '), 'no answer');
});

test('problems that differ in words stay apart', () => {
  assert.notEqual(pattern('owner is missing'), pattern('address is missing'));
});

test('a pattern is short, whole text, however long the message', () => {
  assert.ok(pattern('word '.repeat(500)).length <= 160);
  for (let lead = 150; lead < 165; lead += 1) assert.ok(pattern(`${'x'.repeat(lead)}😀😀`).isWellFormed());
});

test('a group counts every failure and keeps the first few as examples', () => {
  let group = emptyGroup(groupOf(failure('timeout', 'no answer')));
  for (let i = 1; i <= 5; i += 1) group = addToGroup(group, { itemId: `item-${i}`, message: 'no answer', at: i });
  assert.equal(group.count, 5);
  assert.deepEqual(
    group.examples.map(({ itemId }) => itemId),
    ['item-1', 'item-2', 'item-3'],
  );
  assert.equal(MAX_EXAMPLES, 3);
});

test('failures are one group if type, pattern and page are the same, and not otherwise', () => {
  const keyOf = (...args: Parameters<typeof failure>) => groupKey(groupOf(failure(...args)));
  const key = keyOf('timeout', 'parcel 7 is late', { page: 'a' });
  assert.equal(keyOf('timeout', 'parcel 9 is late', { page: 'a', cause: 'x' }), key);
  const others = [
    keyOf('blocked', 'parcel 7 is late', { page: 'a' }),
    keyOf('timeout', 'parcel 7 is gone', { page: 'a' }),
    keyOf('timeout', 'parcel 7 is late', { page: 'b' }),
    keyOf('timeout', 'parcel 7 is late', { page: '' }),
    keyOf('timeout', 'parcel 7 is late'),
    // What a message holds is not taken for a page.
    keyOf('timeout', 'parcel 7 is late a'),
    keyOf('timeout', 'parcel 7 is late\na'),
  ];
  assert.equal(new Set([key, ...others]).size, 7);
  assert.equal(others[5], others[6]);
});

test('a group knows its page and its place, and the group for all the rest has none', () => {
  const late = { ...failure('timeout', 'late', { page: 'a' }), place: 'county.test/#' };
  assert.deepEqual(groupOf(late), { type: 'timeout', pattern: 'late', page: 'a', place: 'county.test/#', step: null });
  assert.deepEqual(groupOf(failure('timeout', 'late')), {
    type: 'timeout',
    pattern: 'late',
    page: null,
    place: null,
    step: null,
  });
  assert.deepEqual(otherGroup({ type: 'blocked' }), {
    type: 'blocked',
    pattern: OTHER_PATTERN,
    page: null,
    place: null,
    step: null,
  });
});

test('a group knows the step of a recording, also the one that many messages share', () => {
  const at = (path: string, message: string) =>
    failure('timeout', `step ${path}, click "Search": ${message}`, { step: { path, label: 'click "Search"' } });
  const deep = Array.from({ length: 8 }, () => '100.otherwise')
    .join('.')
    .slice(0, 118);
  assert.equal(
    groupOf(at('4', 'none of 3 selectors matched')).pattern,
    'step 4, click <…>: none of # selector matched',
  );
  assert.notEqual(groupOf(at(`${deep}1`, 'late')).pattern, groupOf(at(`${deep}2`, 'late')).pattern);
  assert.deepEqual(groupOf(at('4', 'late')).step, { path: '4', label: 'click "Search"' });
  assert.deepEqual(otherGroup(at('4', 'late')), {
    ...{ type: 'timeout', pattern: 'step 4, (other)', page: null, place: null },
    step: { path: '4', label: 'click "Search"' },
  });
});

test('failures at another kind of address are another group; ids in an address make no difference', () => {
  const at = (place: string, count: number) => ({
    ...emptyGroup({ ...groupOf(failure('timeout', 'late')), place }),
    count,
  });
  assert.notEqual(groupKey(at('a.test/x', 1)), groupKey(at('a.test/y', 1)));
  const shown = commonestGroups([at('a.test/x/ABC', 1), at('a.test/x/#', 5), at('a.test/login', 2)], 10);
  assert.deepEqual(
    shown.map(({ place, count }) => [place, count]),
    [
      ['a.test/x/#', 6],
      ['a.test/login', 2],
    ],
  );
});

test('a group says when its first and its last failure ended, in whatever order they are counted', () => {
  let group = emptyGroup(groupOf(failure('timeout', 'late')));
  assert.deepEqual([group.firstAt, group.lastAt], [null, null]);
  for (const at of [20, 10, 30]) group = addToGroup(group, { itemId: `${at}`, message: 'late', at });
  assert.deepEqual([group.firstAt, group.lastAt], [10, 30]);
  const [joined] = commonestGroups([group, { ...group, place: null, page: null, firstAt: 5, lastAt: 8 }], 1);
  assert.deepEqual([joined?.firstAt, joined?.lastAt], [5, 30]);
});

test('it is not known when a group began that was counted by an older version', () => {
  const older = { ...emptyGroup(groupOf(failure('timeout', 'late'))), count: 4 };
  const group = addToGroup(older, { itemId: 'a', message: 'late', at: 7 });
  assert.deepEqual([group.firstAt, group.lastAt], [null, 7]);
  const at = (place: string, firstAt: number | null) => ({ ...group, place, firstAt });
  const [joined] = commonestGroups([at('a.test/#', null), at('a.test/x', 3)], 5);
  assert.deepEqual([joined?.count, joined?.firstAt, joined?.lastAt], [10, null, 7]);
});

test('a group keeps its name however it grows, and lists the keys of all that is counted in it', () => {
  const group = (place: string, count: number, firstAt: number) => ({
    ...emptyGroup({ ...groupOf(failure('timeout', 'late')), place }),
    ...{ count, firstAt, lastAt: firstAt },
  });
  const keysOf = (...groups: FailureGroup[]) => commonestGroups(groups, 1)[0]?.keys;
  const [first, second] = [group('a.test/#', 1, 10), group('a.test/ABC', 1, 20)];
  const keys = [groupKey(first), groupKey(second)];
  assert.deepEqual(keysOf(first, second), keys);
  assert.deepEqual(keysOf(first, { ...second, count: 50 }), keys);
  for (const each of [first, second]) assert.ok(keysOf(first, second)?.includes(groupKey(each)));
});

test('an example has the page that was kept of it: the one it failed on, or else the one that was returned', () => {
  const kept = (...kinds: ArtifactKind[]) => kinds.map((kind) => ({ ...storedArtifact('a'), kind }));
  const pageOf = (...kinds: ArtifactKind[]) =>
    newFailure('a', failure('timeout', 'late'), { startedAt: 5, durationMs: 2, kept: kept(...kinds) });
  assert.deepEqual(pageOf('metadata', 'visit'), { itemId: 'a', message: 'late', at: 7 });
  assert.equal(pageOf('html', 'failed_page').page, 'failed_page');
  assert.equal(pageOf('metadata', 'html').page, 'html');
});

test('a job has at most two hundred groups, and what is beyond them has a pattern that stays as it is', () => {
  assert.equal(MAX_GROUPS, 200);
  assert.equal(pattern(OTHER_PATTERN), OTHER_PATTERN);
});

/** A message as code makes it: fixed words with particulars between them. */
const word = fc.constantFrom('parcel', 'of', 'was', 'not found', 'answer', 'took too long');
const particular = fc.oneof(
  fc.nat().map(String),
  fc.stringMatching(/^[0-9]{3}-[0-9]{2}-[0-9]{3}[A-Z]?$/),
  fc.uuid().map((id) => `a1-${id}`),
);
const quoted = fc.stringMatching(/^[a-z0-9 .#]{0,20}$/).map((text) => `"${text}"`);
const address = fc.stringMatching(/^https?:\/\/[a-z]{1,8}\.test(:[0-9]{2,5})?\/[a-zA-Z0-9?=&%#._-]{0,20}$/);

test('messages that differ only in particulars have one pattern', () => {
  const template = fc.array(fc.tuple(word, fc.constantFrom('particular', 'quoted', 'address')), {
    minLength: 1,
    maxLength: 4,
  });
  const fillings = fc.array(fc.record({ particular, quoted, address }), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(template, fillings, (parts, filling) => {
      const message = (offset: number) =>
        parts
          .map(
            ([text, kind], index) =>
              `${text} ${filling[offset + index]?.[kind as 'particular' | 'quoted' | 'address']}`,
          )
          .join(' ');
      assert.equal(pattern(message(0)), pattern(message(4)));
    }),
    { numRuns: 300 },
  );
});

test('no message, however odd, makes a pattern that is long, broken or full of digits', () => {
  fc.assert(
    fc.property(anyText(400), (message) => {
      const found = pattern(message);
      assert.ok(found.length <= 160 && found.isWellFormed());
      assert.ok(!/[0-9]/.test(found));
    }),
  );
});

test('a failure goes into its own group while there is room for one, or once there is one', () => {
  const late = failure('timeout', 'parcel 7 is late');
  const key = groupKey(groupOf(late));
  const choose = (known: boolean, groups: number) => chooseGroup(late, (one) => known && one === key, groups);
  assert.deepEqual(choose(false, MAX_GROUPS - 1), { kind: groupOf(late), isOther: false });
  assert.deepEqual(choose(true, MAX_GROUPS), { kind: groupOf(late), isOther: false });
  assert.deepEqual(choose(false, MAX_GROUPS), { kind: otherGroup(late), isOther: true });
  assert.deepEqual([countedIn(late, false), countedIn(late, true)], [groupOf(late), otherGroup(late)]);
});

test('a group takes its first examples, and no more than there is room for', () => {
  const examples = [...'abcdefghi'].map((itemId) => ({ itemId, message: '' }));
  assert.deepEqual(
    [0, 2, 3, 9].map((present) => newExamples(examples.slice(0, present), examples).length),
    [3, 1, 0, 0],
  );
});

test('an example with a page takes the place of one without', () => {
  const [a, b, c, d] = [...'abcd'].map((itemId) => ({ itemId, message: '' }));
  assert.ok(a && b && c && d);
  const paged = { ...d, page: 'html' };
  assert.deepEqual(newExamples([a, b, c], [paged, { ...a, itemId: 'e' }]), [paged]);
  assert.deepEqual(bestExamples([a, b, c, paged]), [paged, a, b]);
  const full = [paged, paged, paged];
  assert.deepEqual(newExamples(full, [paged, a]), []);
  const group = { ...emptyGroup(groupOf(failure('timeout', 'late'))), count: 3, examples: [a, b, c] };
  assert.deepEqual(addToGroup(group, { ...paged, at: 1 }).examples, [paged, a, b]);
});

test('an item that is no longer failed leaves its group, example and all, and the last one ends it', () => {
  const examples = ['a', 'b'].map((itemId) => ({ itemId, message: '' }));
  assert.deepEqual(removeFromGroup({ count: 4, examples }, ['a', 'z']), { count: 2, examples: examples.slice(1) });
  assert.equal(removeFromGroup({ count: 2, examples }, ['a', 'b']), null);
});

test('failures that come and go leave the groups as if they had never been', () => {
  const message = fc.constantFrom('a is late', 'b is late', 'c is late');
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
      const before = { ...emptyGroup(groupOf(failure('timeout', 'p'))), count: 1, firstAt: 1, lastAt: 1 };
      let group: FailureGroup = before;
      for (const [index, text] of messages.entries()) {
        group = addToGroup(group, { itemId: `${index}`, message: text, at: 1 });
      }
      const left: FailureGroup | null = removeFromGroup(group, [...messages.keys()].map(String));
      assert.deepEqual(left, before);
    }),
  );
});

test('the commonest groups come first', () => {
  const groups = [1, 5, 3].map((count) => ({
    ...emptyGroup(groupOf(failure('timeout', 'x'))),
    page: `${count}`,
    count,
  }));
  assert.deepEqual(
    commonestGroups(groups, 2).map(({ count }) => count),
    [5, 3],
  );
});

test('groups of one layout are one line, under the layout that was seen most', () => {
  const layout = (...hashes: readonly string[]) => encodeLayout(hashes, (text) => text.padEnd(12, '.'));
  const group = (page: string | null, count: number, more: Partial<FailureGroup> = {}): FailureGroup => {
    const examples = [1, 2].map((at) => ({ itemId: `${count}-${at}`, message: 'x' }));
    return { ...emptyGroup(groupOf(failure('structure_changed', 'no owner'))), page, count, examples, ...more };
  };
  const [page, badge, other] = [layout('bbb', 'ccc', 'ddd'), layout('aaa', 'bbb', 'ccc', 'ddd'), layout('xxx', 'yyy')];
  const groups = [
    group(page, 5),
    group(badge, 9),
    group(other, 3),
    group(null, 2),
    group(page, 4, { pattern: 'no tax' }),
  ];
  const shown = commonestGroups(groups, 10);
  assert.deepEqual(
    shown.map(({ pattern: text, page: on, count }) => [text, on, count]),
    [
      ['no owner', badge, 14],
      ['no tax', page, 4],
      ['no owner', other, 3],
      ['no owner', null, 2],
    ],
  );
  assert.deepEqual(
    shown[0]?.examples.map(({ itemId }) => itemId),
    ['9-1', '9-2', '5-1'],
  );
  assert.equal(commonestGroups(groups, 2).length, 2);
});

test('failures at different steps of a recording are different groups', () => {
  const [one, same, other] = [
    'step 4, click "Search": none of 3 selectors matched (http://county.test/a)',
    'step 4, click "Search": none of 2 selectors matched (http://county.test/b)',
    'step 12.then.1, click "Search": none of 3 selectors matched (http://county.test/a)',
  ].map(pattern);
  assert.equal(one, same);
  assert.equal(one, 'step 4, click <…>: none of # selector matched (<url>)');
  assert.equal(other, 'step 12.then.1, click <…>: none of # selector matched (<url>)');
});
