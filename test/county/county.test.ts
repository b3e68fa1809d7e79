import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sized } from '../support/sized.ts';
import { runCounty } from './run-county.ts';

const SMALL = { items: 3000, workers: 2, outageMs: 3_600_000, seed: 1 };

for (const workers of sized({ quick: [1, 8], slow: [1, 2, 4, 8] })) {
  const who = workers === 1 ? 'one worker' : `${workers} workers`;
  test(`a county that becomes slow, refuses more than it bears and is down for an hour is finished by ${who}`, async () => {
    const report = await runCounty({ ...SMALL, workers, isAdaptive: true });
    assert.deepEqual([report.status, report.success, report.failed], ['completed', 3000, 0]);
    assert.ok(report.refused_share < 0.01, `${report.refused_share} of the requests were refused`);
    assert.ok(report.outage_requests < 40, `${report.outage_requests} requests while the county was down`);
    assert.ok(report.time_ratio < 1.3, `it took ${report.time_ratio} times the ideal time`);
  });
}

test('without adaptive, most requests of the same job are refused', async () => {
  const report = await runCounty({ ...SMALL, items: 1000, isAdaptive: false });
  assert.ok(report.refused_share > 0.5, `${report.refused_share} of the requests were refused`);
  assert.ok(report.outage_requests < 80, `${report.outage_requests} requests while the county was down`);
});

test('the same seed gives the same run', async () => {
  const once = await runCounty({ ...SMALL, items: 500, isAdaptive: true });
  assert.deepEqual(await runCounty({ ...SMALL, items: 500, isAdaptive: true }), once);
});
