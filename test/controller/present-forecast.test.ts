import assert from 'node:assert/strict';
import { test } from 'node:test';
import { presentForecast } from '../../src/controller/jobs/present-forecast.ts';
import { type Counts, NO_COUNTS } from '../../src/domain/counts.ts';
import { measurePace } from '../../src/domain/job-pace.ts';
import type { JobStatus } from '../../src/domain/job-steps.ts';
import { jobOf as recordOf } from '../domain/builders.ts';

function jobOf(status: JobStatus, counts: Partial<Counts>) {
  return recordOf({}, { status, counts: { ...NO_COUNTS, ...counts } });
}

const PACE = measurePace(3000, 30, Array(15).fill(200));

test('a running job says how long the rest will take, with a range, and which share fails', () => {
  const job = jobOf('in_progress', { total: 10_000, success: 3900, failed: 100 });
  const { items_per_second, eta_seconds, eta_low_seconds, eta_high_seconds, failure_rate } = presentForecast(job, PACE);
  assert.deepEqual([items_per_second, eta_seconds, failure_rate], [100, 60, 0.025]);
  assert.ok(eta_low_seconds !== null && eta_low_seconds > 50 && eta_low_seconds < 60);
  assert.ok(eta_high_seconds !== null && eta_high_seconds > 60 && eta_high_seconds < 70);
});

test('the usage of the whole job is predicted from what its items have used so far', () => {
  const row = {
    host: 'county.gov',
    requests: 12_000,
    bytesUp: 1_000_000,
    bytesDown: 7_000_000,
    refused: 0,
    blocked: 0,
  };
  const job = jobOf('in_progress', { total: 10_000, success: 3900, failed: 100 });
  const direct = presentForecast({ ...job, usage: [{ ...row, proxy: 'none' }] }, PACE);
  assert.deepEqual([direct.requests_expected, direct.bytes_expected, direct.cost_expected], [30_000, 20_000_000, 0]);
  const usage = [{ ...row, proxy: 'residential' as const }];
  assert.equal(presentForecast({ ...job, usage }, PACE).cost_expected, null, 'the price is not known');
  const priced = presentForecast({ ...job, usage, prices: { residential: { perGb: 8 } } }, PACE);
  assert.equal(priced.cost_expected, 0.16);
  assert.equal(presentForecast(jobOf('pending', { total: 10 }), null).requests_expected, null);
});

test('the time left is not given while a job makes no progress or is not running', () => {
  const standing = presentForecast(jobOf('in_progress', { total: 10, success: 1 }), measurePace(0, 30));
  assert.deepEqual([standing.items_per_second, standing.eta_seconds, standing.eta_high_seconds], [0, null, null]);
  const paused = presentForecast(jobOf('paused', { total: 10, success: 1 }), null);
  assert.deepEqual([paused.items_per_second, paused.eta_seconds, paused.failure_rate], [null, null, 0]);
  assert.equal(presentForecast(jobOf('pending', { total: 10 }), null).failure_rate, null);
});
