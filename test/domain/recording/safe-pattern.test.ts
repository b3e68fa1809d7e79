import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../../../src/domain/recording/limits.ts';
import { compilePattern, findPatternProblem } from '../../../src/domain/recording/safe-pattern.ts';
import { passesCount, passesText, passesUrl } from '../../../src/domain/recording/text-test.ts';
import { sized } from '../../support/sized.ts';

test('patterns that people write are accepted', () => {
  const usual = [
    ...[
      '^\\d{3}-\\d{2}-\\d{3}[A-Z]?$',
      'Total: \\$([\\d,]+\\.\\d{2})',
      'no (records|results|matches) found',
      'Page \\d+ of \\d+',
    ],
    ...[
      '(?<year>\\d{4})',
      '^\\s*Owner:\\s*(.+)$',
      '[A-Za-z ]+, [A-Z]{2} \\d{5}(-\\d{4})?',
      '(?:Inc|LLC)\\.?$',
      '\\bpaid\\b',
      'é+',
    ],
    ...['^(\\d{1,3})(,\\d{3})*$', '\\d+-\\d+-\\d+-\\d+', 'a\\/b\\(c\\)'],
  ];
  for (const pattern of usual) assert.equal(findPatternProblem(pattern), null, pattern);
});

test('what may be left out does not separate the repetitions on its sides', () => {
  const slow = [
    'a+(?:ab)?(a+)\\w{2,}!$',
    'a+(b|)a+a+!$',
    'a+(?:b|a)a+a+!$',
    'a+(?:ab){0,3}a+a+!$',
    'a+(?:(?:b)?c*)a+a+!$',
  ];
  for (const pattern of slow) assert.match(findPatternProblem(pattern) ?? '', /^has more than two open/, pattern);
  for (const pattern of ['a+(?:b|c)a+a+!$', 'a+(?:ab)a+a+!$']) assert.equal(findPatternProblem(pattern), null, pattern);
});

test('an accepted pattern answers soon, whatever it is tried on', () => {
  const atom = fc.constantFrom(
    'a',
    '.',
    '\\d',
    '\\w',
    '[ab]',
    '[^a]',
    '(a)',
    '(a|b)',
    '(?:ab)',
    '(a+)',
    '(\\w*)',
    '\\s',
  );
  const repeat = fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '*?');
  const pattern = fc
    .array(fc.tuple(atom, repeat), { minLength: 1, maxLength: 8 })
    .map((pieces) => `${pieces.map(([one, many]) => `${one}${many}`).join('')}!$`);
  const subjects = ['a', 'ab', '1', 'a1 '].map((piece) =>
    piece.repeat(LIMITS.patternSubject).slice(0, LIMITS.patternSubject),
  );
  let accepted = 0;
  fc.assert(
    fc.property(pattern, (source) => {
      if (findPatternProblem(source) !== null) return;
      accepted += 1;
      const started = performance.now();
      for (const subject of subjects) compilePattern(source).test(subject);
      // A guard against patterns that take years; an accepted one takes milliseconds, at worst seconds on a busy machine.
      assert.ok(performance.now() - started < 60_000, source);
    }),
    { numRuns: sized({ quick: 20, slow: 3_000 }) },
  );
  assert.ok(accepted > 0);
});

test('texts are compared without case and white space, addresses with stars', () => {
  assert.equal(passesText('no records', ' No \n RECORDS found'), true);
  assert.equal(passesText({ equals: 'no records' }, 'No records found'), false);
  assert.equal(passesText({ matches: '^no .* found$' }, ' No records  found '), true);
  assert.equal(passesUrl('https://a.example/parcel/*', 'https://a.example/parcel/1?x=2'), true);
  assert.equal(passesUrl('/parcel/*/tax', 'https://a.example/parcel/1/tax'), true);
  assert.equal(passesUrl('/parcel/*/tax', 'https://a.example/parcel/tax'), false);
  assert.equal(passesUrl('*a*a*a*b', `${'a'.repeat(5_000)}c`), false);
  assert.equal(passesCount({ atLeast: 2, atMost: 3 }, 3), true);
  assert.equal(passesCount({ atMost: 3 }, 4), false);
});
