import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostSettings } from '../../src/domain/host-settings.ts';
import { paceLimits } from '../../src/domain/pace-limits.ts';
import { policySchema } from '../../src/domain/policy.ts';

const ROW = { proxy: 'none' as const, bytesUp: 1, bytesDown: 1, refused: 0, blocked: 0 };
const USAGE = [
  { ...ROW, host: 'county.gov', requests: 30 },
  { ...ROW, host: 'maps.gov', requests: 10 },
];

function settings(host: string, limits: Partial<HostSettings>): HostSettings {
  const none = { maxConcurrent: null, requestsPerSecond: null, minDelayMs: null, note: null, pausedUntil: null };
  return { ...none, host, changedAt: 0, version: 'v', ...limits };
}

function rate(own: number | null, hosts: readonly HostSettings[]): number | null {
  const { throttling } = policySchema.parse({ throttling: { max_requests_per_second: own } });
  return paceLimits(throttling, USAGE, hosts).requestsPerSecond;
}

test('the policy says how many at a time, how far apart, and how many requests per second', () => {
  const { throttling } = policySchema.parse({
    throttling: { max_concurrent_workers: 7, min_delay_between_items_seconds: 0.5, max_requests_per_second: 9 },
  });
  assert.deepEqual(paceLimits(throttling, [], []), { concurrency: 7, delayMs: 500, requestsPerSecond: 9 });
  assert.equal(rate(null, []), null);
});

test('a host that gets three of four requests limits the job to four thirds of what it allows', () => {
  assert.equal(rate(null, [settings('county.gov', { requestsPerSecond: 3 })]), 4);
  assert.equal(rate(null, [settings('county.gov', { minDelayMs: 1000, requestsPerSecond: 3 })]), 4 / 3);
  assert.equal(rate(2, [settings('county.gov', { requestsPerSecond: 3 })]), 2, 'the policy allows less');
});

test('the host that allows least counts, and one that the sample did not visit does not', () => {
  const hosts = [settings('county.gov', { requestsPerSecond: 3 }), settings('maps.gov', { requestsPerSecond: 0.5 })];
  assert.equal(rate(null, hosts), 2);
  assert.equal(rate(null, [settings('other.gov', { requestsPerSecond: 0.1 })]), null);
  assert.equal(rate(null, [settings('county.gov', { maxConcurrent: 1 })]), null);
});
