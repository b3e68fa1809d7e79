import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addSpan, NO_SPANS } from '../../src/domain/recording/step-spans.ts';
import type { StepsReport } from '../../src/ports/step-records.ts';
import { StepReports } from '../../src/worker/step-reports.ts';
import { FakeClock } from '../support/fake-clock.ts';

function openProcess() {
  const clock = new FakeClock();
  const sent: StepsReport[] = [];
  const troubles: unknown[] = [];
  const warned: object[] = [];
  const store = { isFailing: false };
  const reports = new StepReports({
    records: {
      async report(reported) {
        if (store.isFailing) throw new Error('the table is away');
        sent.push(...reported);
      },
    },
    log: { warn: (fields) => warned.push(fields) },
    ...{ clock, everyMs: 1000, onError: (_: string, error: unknown) => troubles.push(error) },
  });
  const see = (jobId: string, alternative: number | null) => {
    const step = { path: '4', label: 'click "Search"' };
    const seen = { step, selectors: ['#go', 'text/Search'], spans: addSpan(NO_SPANS, 10), alternative };
    reports.note(jobId, [seen], clock.now());
  };
  return { clock, sent, troubles, warned, store, reports, see };
}

function told({ jobId, steps }: StepsReport) {
  return [jobId, ...steps.map(({ step, items }) => `${step.path}: ${items}`)];
}

test('what was seen of steps is reported by job, once a second and when the process ends, however many items', async () => {
  const { clock, sent, reports, see } = openProcess();
  const stop = new AbortController();
  const running = reports.run(stop.signal);
  for (let n = 0; n < 500; n += 1) see(n % 5 === 0 ? 'taxes' : 'deeds', 0);
  await clock.advance(1000);
  assert.deepEqual(sent.splice(0).map(told).sort(), [
    ['deeds', '4: 400'],
    ['taxes', '4: 100'],
  ]);
  await clock.advance(5000);
  assert.deepEqual(sent, []);
  see('taxes', null);
  stop.abort();
  await clock.turn();
  await running;
  assert.deepEqual(sent.map(told), [['taxes', '4: 1']]);
});

test('a report that could not be sent is part of the next one, and is complained about once', async () => {
  const { sent, troubles, store, reports, see } = openProcess();
  store.isFailing = true;
  for (let n = 0; n < 3; n += 1) {
    see('taxes', 0);
    await reports.runOnce();
  }
  assert.equal(troubles.length, 1);
  store.isFailing = false;
  await reports.runOnce();
  assert.deepEqual(sent.map(told), [['taxes', '4: 3']]);
});

test('drift is in the log of a worker once per job and step', async () => {
  const { warned, reports, see } = openProcess();
  for (let round = 0; round < 3; round += 1) {
    for (let n = 0; n < 4; n += 1) see('taxes', 1);
    await reports.runOnce();
  }
  assert.deepEqual(warned, [
    {
      ...{ job_id: 'taxes', step: '4' },
      drift:
        'step 4, click "Search": the first selector (#go) matched nothing in 8 of 8 items; the second (text/Search) did',
    },
  ]);
});
