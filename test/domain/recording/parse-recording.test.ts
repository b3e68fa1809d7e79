import assert from 'node:assert/strict';
import test from 'node:test';
import { describeSteps } from '../../../src/domain/recording/describe-step.ts';
import { planHttp } from '../../../src/domain/recording/http-plan.ts';
import { compileInput, parseRecording } from '../../../src/domain/recording/parse-recording.ts';
import { describeProblem } from '../../../src/domain/recording/problem.ts';
import { readRecording, SEARCH } from './sample-recordings.ts';

function problemsOf(document: unknown): readonly string[] {
  const parsed = parseRecording(document);
  return parsed.ok ? [] : parsed.problems.map(describeProblem);
}

test('a recording is read with its defaults, and its input schema follows from the placeholders', () => {
  const recording = readRecording(SEARCH);
  assert.deepEqual(
    [recording.name, recording.version, recording.engine, recording.output, recording.timeouts, recording.recovery],
    [
      'county',
      '1.0.0',
      'auto',
      null,
      { stepMs: 10_000, navigationMs: 30_000 },
      { retryStep: 1, reload: 0, startOver: 0 },
    ],
  );
  assert.deepEqual(recording.input, {
    type: 'object',
    properties: { apn: { type: ['string', 'number', 'boolean'] } },
    required: ['apn'],
  });
  const input = compileInput(recording);
  assert.equal(input.safeParse({ apn: '503-51-079', year: '2025' }).success, true);
  assert.equal(input.safeParse({ parcel: '503-51-079' }).success, false);
});

test('steps are shown as a person would tell them', () => {
  assert.deepEqual(describeSteps(readRecording(SEARCH)), [
    '1. goto https://county.example.gov/search',
    '2. fill "Parcel number" with "{{input.apn | digits}}"',
    '3. click "Search"',
    '4. if the page says "No records found"',
    '  4.then.1. stop: no_results',
    '5. read the text of #owner as owner',
    '6. take a screenshot',
  ]);
});

test('what needs a browser is named by its step', () => {
  assert.deepEqual(planHttp(readRecording(SEARCH)), {
    isPossible: false,
    obstacles: [{ path: '6', type: 'screenshot', reason: 'a picture needs a page that is drawn' }],
  });
});

test('a mistake is named by its step, its field and its reason', () => {
  const [goto, ...rest] = SEARCH.steps;
  const broken = {
    ...SEARCH,
    steps: [
      goto,
      { type: 'clik', selectors: ['#a'] },
      { type: 'click', selectors: [] },
      {
        type: 'if',
        condition: { type: 'url', url: '/a' },
        then: [
          { type: 'goto', url: '/b' },
          { type: 'click', selectors: ['a['] },
        ],
      },
      { type: 'fill', selectors: ['#a'], valeu: 'x' },
      ...rest,
    ],
  };
  assert.deepEqual(problemsOf(broken), [
    'step 2 (clik), type: there is no step "clik"; did you mean click?',
    'step 3 (click), selectors: too small: expected array to have >=1 items',
    'step 4.then.2 (click), selectors.0: the selector "a[" has a [ that is not closed',
    'step 5 (fill), value: is missing (string)',
    'step 5 (fill), valeu: there is no such field here',
  ]);
});
