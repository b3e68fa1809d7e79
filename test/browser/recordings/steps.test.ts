import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { findObstacle } from '../../../src/domain/recording/http-plan.ts';
import { parseRecording } from '../../../src/domain/recording/parse-recording.ts';
import type { Recording } from '../../../src/domain/recording/recording.ts';
import { SELECTOR_PREFIXES } from '../../../src/domain/recording/selector.ts';
import { STEP_TYPES, type Step, type StepType } from '../../../src/domain/recording/step.ts';
import { walkSteps } from '../../../src/domain/recording/step-path.ts';
import type { StepPause } from '../../../src/domain/recording/step-pause.ts';
import { recordingScraper } from '../../../src/scraping/actions/recording-scraper.ts';
import type { ScrapeResult } from '../../../src/scraping/scraper.ts';
import { openSite } from '../../scraping/http-support.ts';
import { browserContext, browserTools, dataOf, failureOf } from '../kit-support.ts';
import { STEP_CASES, type StepCase } from './step-cases.ts';
import { TROUBLE_CASES } from './trouble-cases.ts';
import { openWidgets } from './widget-site.ts';

type Case = StepCase & { readonly input?: Readonly<Record<string, string>> };

const browser = browserTools();
const clock = systemClock();

async function carryOut(t: TestContext, one: Case, engine: 'browser' | 'http'): Promise<ScrapeResult> {
  const site = await openWidgets(t);
  const parsed = parseRecording({
    ...{ id: 'case', hosts: [site.host], engine, sequences: one.sequences ?? {} },
    recovery: { retryStep: 0 },
    timeouts: { stepMs: one.timeoutMs ?? 20_000 },
    steps: [{ type: 'goto', url: `${site.origin}${one.at ?? '/'}` }, ...one.steps],
  });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const given = browserContext(t, browser, {
    ...{
      input: one.input ?? { apn: 'A & 1' },
      now: () => clock.now(),
      sleep: (ms: number) => clock.sleep(ms, t.signal),
    },
  });
  const context = { ...given, tools: { ...given.tools, allowsScripts: one.forbidsScripts !== true } };
  return recordingScraper(parsed.recording).scrape({ ...context, withInput: (input) => ({ ...context, input }) });
}

function check(one: StepCase, result: ScrapeResult): void {
  if (one.fails !== undefined) {
    const { type, message } = failureOf(result);
    assert.equal(type, one.fails.type, message);
    assert.match(message, one.fails.says);
    return;
  }
  assert.equal(result.kind, 'scraped', result.kind === 'failed' ? result.failure.message : '');
  assert.deepEqual(dataOf(result), one.data);
  const kinds = new Set(result.artifacts?.map(({ kind }) => kind));
  for (const kind of one.keeps ?? []) assert.ok(kinds.has(kind), `no ${kind} was kept`);
}

for (const one of [...STEP_CASES, ...TROUBLE_CASES]) {
  if (!one.httpOnly) {
    test(`in Chromium, a recording ${one.about} (${one.of.join(', ')})`, async (t) => {
      check(one, await carryOut(t, one, 'browser'));
    });
  }
  if (one.browserOnly) continue;
  test(`without a browser, a recording ${one.about} (${one.of.join(', ')})`, async (t) => {
    check(one, await carryOut(t, one, 'http'));
  });
}

test('a step that fails waits for an answer: it is repeated, skipped, or ends the run; a step inside a try does not ask', async (t) => {
  let button = 'renamed';
  const site = await openSite(t, ({ path }) =>
    path === '/done' ? '<p id=end>done</p>' : `<a id=${button} href=/done>go</a>`,
  );
  const read = { type: 'extractText', selectors: ['#end'], field: 'end' };
  const run = async (pause: StepPause) => {
    const parsed = parseRecording({
      ...{ id: 'paused', hosts: [site.host], engine: 'browser', timeouts: { stepMs: 200 }, recovery: { retryStep: 0 } },
      steps: [
        { type: 'goto', url: site.origin },
        { type: 'try', steps: [{ type: 'click', selectors: ['#none'] }] },
        { type: 'click', selectors: ['#go'], navigation: {} },
        read,
      ],
    });
    assert.ok(parsed.ok, JSON.stringify(parsed));
    const now = () => clock.now();
    const context = browserContext(t, browser, { input: {}, now, sleep: (ms: number) => clock.sleep(ms, t.signal) });
    return recordingScraper(parsed.recording, pause).scrape(context);
  };
  const asked: string[] = [];
  const repeated = await run(async ({ path, message }) => {
    asked.push(`${path}: ${message}`);
    if (asked.length === 1) return 'retry';
    // What a person would repair in the window.
    button = 'go';
    return 'skip';
  });
  assert.equal(asked.length, 3);
  assert.match(asked[0] ?? '', /^3: step 3, click #go: #go did not match/);
  assert.match(asked[2] ?? '', /^4: step 4, read the text of #end/);
  assert.deepEqual(dataOf(repeated), {});

  button = 'renamed';
  const { message } = failureOf(await run(async () => 'quit'));
  assert.match(message, /^step 3, click #go/);
});

function stepsOf({ steps, sequences = {} }: StepCase): readonly Step[] {
  return [...walkSteps({ steps: [...steps], sequences: sequences as Recording['sequences'] })].map(({ step }) => step);
}

test('every type of step is carried out in Chromium and, where it can be, without a browser', () => {
  const all = new Set<StepType>(['goto']);
  const compiled = new Set<StepType>();
  const overHttp = new Set<StepType>();
  for (const one of STEP_CASES) {
    const steps = stepsOf(one);
    const types = new Set(steps.map(({ type }) => type));
    assert.deepEqual(
      one.of.filter((type) => !types.has(type)),
      [],
      `the case "${one.about}" does not have the steps that it names`,
    );
    for (const step of steps) {
      all.add(step.type);
      if (findObstacle(step) === null) compiled.add(step.type);
      if (!one.browserOnly) overHttp.add(step.type);
    }
  }
  assert.deepEqual(
    STEP_TYPES.filter((type) => !all.has(type)),
    [],
  );
  assert.deepEqual(
    [...compiled].filter((type) => !overHttp.has(type)),
    [],
  );
});

test('every kind of selector and every condition has a case', () => {
  const text = JSON.stringify(STEP_CASES);
  const kinds = Object.keys(SELECTOR_PREFIXES).filter((prefix) => !text.includes(`"${prefix}/`));
  const conditions = ['exists', 'text', 'count', 'value', 'url', 'and', 'or', 'not'];
  const untested = conditions.filter(
    (type) => !text.includes(`"condition":{"type":"${type}"`) && !text.includes(`{"type":"${type}"`),
  );
  assert.deepEqual([kinds, untested], [[], []]);
});
