import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOTHING_WORSE, type Worst } from '../../src/domain/compliance.ts';
import { NO_LIMITS } from '../../src/domain/host-settings.ts';
import {
  type ConductLimits,
  conductLimits,
  excessesOf,
  jobConduct,
  MAX_CONDUCT_HOSTS,
  refusalsAt,
} from '../../src/domain/job-compliance.ts';
import { DEFAULT_POLICY } from '../../src/domain/policy.ts';
import type { Usage } from '../../src/domain/usage.ts';

const LIMITS: ConductLimits = { concurrent: 4, perSecond: 5, gapMs: 200 };
const UNLIMITED: ConductLimits = { concurrent: null, perSecond: null, gapMs: null };

function excesses(worst: Partial<Worst>, limits = LIMITS) {
  return excessesOf({ worst: { ...NOTHING_WORSE, ...worst } }, limits);
}

test('the stricter of policy and host is the limit of a job', () => {
  const policy = { ...DEFAULT_POLICY.throttling, max_concurrent_workers: 8, max_requests_per_second: 5 };
  const host = { maxConcurrent: 4, requestsPerSecond: 20, minDelayMs: 100 };
  assert.deepEqual(conductLimits(policy, host), { concurrent: 4, perSecond: 5, gapMs: 100 });
  const free = { ...policy, max_requests_per_second: null };
  assert.deepEqual(conductLimits(free, NO_LIMITS), { concurrent: 8, perSecond: null, gapMs: null });
  assert.deepEqual(conductLimits(free, { ...NO_LIMITS, minDelayMs: 0 }).gapMs, null);
});

test('what keeps to its limits exceeds nothing', () => {
  const worst = { atLeastConcurrent: 4, atMostConcurrent: 4, perSecond: 6, perTenSeconds: 52, gapMs: 199 };
  assert.deepEqual(excesses(worst), []);
  assert.deepEqual(excesses({ atLeastConcurrent: 99, perTenSeconds: 9999, gapMs: 0 }, UNLIMITED), []);
});

test('only what certainly happened is an excess', () => {
  assert.deepEqual(excesses({ atLeastConcurrent: 5, atMostConcurrent: 9 }), ['concurrency']);
  assert.deepEqual(excesses({ atLeastConcurrent: 4, atMostConcurrent: 9 }), []);
  assert.deepEqual(excesses({ perSecond: 9, perTenSeconds: 54 }), ['rate']);
  assert.deepEqual(excesses({ perSecond: 9, perTenSeconds: 50 }), []);
  assert.deepEqual(excesses({ gapMs: 197 }), ['gap']);
  assert.deepEqual(excesses({ gapMs: null }), []);
  assert.deepEqual(excesses({ duringPause: 1 }, UNLIMITED), ['pause']);
});

test('the share of refusals is that of all requests to the host, by whatever proxy they went', () => {
  const row = { bytesUp: 0, bytesDown: 0 };
  const usage: Usage = [
    { ...row, host: 'a.gov', proxy: 'none', requests: 6, refused: 3, blocked: 0 },
    { ...row, host: 'a.gov', proxy: 'residential', requests: 4, refused: 0, blocked: 1 },
    { ...row, host: 'b.gov', proxy: 'none', requests: 4, refused: 4, blocked: 0 },
  ];
  assert.deepEqual(refusalsAt('a.gov', usage), { share429: 0.3, share403: 0.1 });
  assert.equal(refusalsAt('c.gov', usage), null);
});

test('a job lists the hosts with the most requests, and counts the others', () => {
  const hosts = Array.from({ length: MAX_CONDUCT_HOSTS + 7 }, (_, at) => {
    return { host: `${at}.gov`, requests: at, worst: NOTHING_WORSE };
  });
  const { hosts: kept, omitted } = jobConduct(hosts);
  assert.deepEqual([kept.length, omitted], [MAX_CONDUCT_HOSTS, 7]);
  assert.deepEqual([kept[0]?.requests, kept.at(-1)?.requests], [MAX_CONDUCT_HOSTS + 6, 7]);
});
