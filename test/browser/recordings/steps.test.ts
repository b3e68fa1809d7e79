import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { parseRecording } from '../../../src/domain/recording/parse-recording.ts';
import { STEP_TYPES } from '../../../src/domain/recording/step.ts';
import { recordingScraper } from '../../../src/scraping/actions/recording-scraper.ts';
import type { ScrapeResult } from '../../../src/scraping/scraper.ts';
import { browserContext, browserTools, dataOf, failureOf } from '../kit-support.ts';
import { STEP_CASES, type StepCase } from './step-cases.ts';
import { openWidgets } from './widget-site.ts';

const browser = browserTools();
const clock = systemClock();

async function carryOut(t: TestContext, one: StepCase, engine: 'browser' | 'http'): Promise<ScrapeResult> {
  const site = await openWidgets(t);
  const parsed = parseRecording({
    ...{ id: 'case', hosts: [site.host], engine, sequences: one.sequences ?? {} },
    recovery: { retryStep: 0 },
    timeouts: { stepMs: one.timeoutMs ?? 20_000 },
    steps: [{ type: 'goto', url: `${site.origin}${one.at ?? '/'}` }, ...one.steps],
  });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const given = browserContext(t, browser, {
    ...{ input: { apn: 'A & 1' }, now: () => clock.now(), sleep: (ms: number) => clock.sleep(ms, t.signal) },
  });
  const context = { ...given, tools: { ...given.tools, allowsScripts: true } };
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

for (const one of STEP_CASES) {
  test(`in Chromium, a recording ${one.about} (${one.of.join(', ')})`, async (t) => {
    check(one, await carryOut(t, one, 'browser'));
  });
  if (one.browserOnly) continue;
  test(`without a browser, a recording ${one.about} (${one.of.join(', ')})`, async (t) => {
    check(one, await carryOut(t, one, 'http'));
  });
}

test('every type of step has a case', () => {
  const tested = new Set(STEP_CASES.flatMap(({ of }) => of));
  assert.deepEqual(
    STEP_TYPES.filter((type) => !tested.has(type)),
    [],
  );
});
