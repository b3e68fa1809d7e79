import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAILURE_TYPES, failure, isRetryable } from '../../src/domain/failure.ts';
import { crawlDelayMs, MAX_CRAWL_DELAY_MS, readRobotsAnswer } from '../../src/domain/robots.ts';

const ORIGIN = 'https://county.example';

function meaningOf(status: number, retryAfterMs: number | null = null) {
  return readRobotsAnswer({ kind: 'answer', status, retryAfterMs }, ORIGIN);
}

test('a file that came says what is allowed, and one that is not there allows everything', () => {
  for (const status of [200, 204, 206]) assert.equal(meaningOf(status).kind, 'rules', `${status}`);
  for (const status of [300, 304, 400, 401, 403, 404, 410, 451])
    assert.equal(meaningOf(status).kind, 'none', `${status}`);
  for (const status of [200, 404]) assert.ok(meaningOf(status).forMs <= 24 * 3_600_000, 'RFC 9309 allows a day');
});

test('a server that fails or refuses allows nothing for a while, in words that name the file', () => {
  for (const [status, type] of [
    [429, 'rate_limited'],
    [500, 'server_error'],
    [503, 'server_error'],
  ] as const) {
    const meaning = meaningOf(status);
    assert.ok(meaning.kind === 'unreachable', `${status}`);
    assert.equal(meaning.failure.type, type);
    assert.match(
      meaning.failure.message,
      /^https:\/\/county\.example\/robots\.txt cannot be read, so nothing .* status \d+$/,
    );
    assert.equal(meaning.forMs, 60_000);
  }
});

test('a server that says when to come back is not asked before', () => {
  assert.equal(meaningOf(503, 600_000).forMs, 600_000);
  assert.equal(meaningOf(503, 1000).forMs, 60_000, 'not sooner than otherwise');
});

test('without an answer nothing is allowed, and the item fails as the request did', () => {
  for (const type of FAILURE_TYPES) {
    const meaning = readRobotsAnswer({ kind: 'failed', failure: failure(type, 'so it was') }, ORIGIN);
    if (type === 'navigation_failed') assert.equal(meaning.kind, 'none', 'a redirect that leads nowhere is no file');
    else {
      assert.ok(meaning.kind === 'unreachable');
      assert.deepEqual([meaning.failure.type, meaning.failure.message.endsWith(': so it was')], [type, true]);
    }
  }
  assert.ok(isRetryable('timeout') && isRetryable('network_error') && isRetryable('server_error'));
});

test('what a proxy did says nothing about the site, and is not remembered', () => {
  for (const type of ['proxy_error', 'proxy_config'] as const) {
    assert.equal(readRobotsAnswer({ kind: 'failed', failure: failure(type, 'no') }, ORIGIN).forMs, 0);
  }
});

test('a crawl-delay is in seconds, and has a limit', () => {
  const delays = [undefined, 0, -5, Number.NaN, 0.5, 10, 1e9, Number.POSITIVE_INFINITY].map(crawlDelayMs);
  assert.deepEqual(delays, [0, 0, 0, 0, 500, 10_000, MAX_CRAWL_DELAY_MS, MAX_CRAWL_DELAY_MS]);
});
