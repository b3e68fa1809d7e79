import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { parseRecording } from '../../../src/domain/recording/parse-recording.ts';
import { describeProblem } from '../../../src/domain/recording/problem.ts';
import { STEP_TYPES } from '../../../src/domain/recording/step.ts';
import { sized } from '../../support/sized.ts';
import { BROKEN_RECORDINGS } from './broken-recordings.ts';
import { SEARCH } from './sample-recordings.ts';

test('there are more than 200 broken recordings, and each is refused with its step or field named', () => {
  assert.ok(BROKEN_RECORDINGS.length > 200, `${BROKEN_RECORDINGS.length}`);
  const wrong = BROKEN_RECORDINGS.flatMap(({ what, document, named }) => {
    const parsed = parseRecording(document);
    const [first = 'is accepted'] = parsed.ok ? [] : parsed.problems.map(describeProblem);
    return named.test(first) ? [] : [`${what}: ${first}`];
  });
  assert.deepEqual(wrong, []);
});

test('a message about a huge recording is short', () => {
  for (const { document } of BROKEN_RECORDINGS) {
    const parsed = parseRecording(document);
    if (parsed.ok) continue;
    assert.ok(parsed.problems.length <= 20);
    for (const problem of parsed.problems) assert.ok(describeProblem(problem).length < 1_200);
  }
});

test('whatever a recording holds, parsing it answers, and changes no prototype', () => {
  const value = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<unknown>;
  const key = fc.constantFrom(
    ...['type', 'selectors', 'url', 'text', 'value', 'condition', 'then', 'else', 'steps', 'otherwise', 'until', 'max'],
    ...['field', 'variable', 'frame', 'within', 'sequence', 'outcome', '__proto__', 'constructor', 'fields', 'files'],
  );
  const { step } = fc.letrec<{ step: unknown }>((tie) => ({
    step: fc
      .array(
        fc.tuple(
          key,
          fc.oneof(
            { depthSize: 'small', withCrossShrink: true },
            fc.constantFrom(...STEP_TYPES, '#a', '{{input.a}}', '/x', '@row', '(a+)+'),
            value,
            fc.array(tie('step'), { maxLength: 3 }),
          ),
        ),
        { maxLength: 6 },
      )
      .map((entries) => Object.fromEntries([['type', 'try'], ...entries])),
  }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 5 }), (steps) => {
      const parsed = parseRecording({ ...SEARCH, steps: [...SEARCH.steps, ...steps] });
      if (!parsed.ok) assert.ok(parsed.problems.every(({ message }) => message !== ''));
      assert.equal(({} as Record<string, unknown>)['type'], undefined);
    }),
    { numRuns: sized({ quick: 300, slow: 20_000 }) },
  );
});
