import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { FailureType } from '../../src/domain/failure.ts';
import { judgeProxyAnswer, type ProxyAnswer } from '../../src/domain/proxy-answer.ts';
import { PROXY_TABLE } from '../models/proxy-table.ts';

const PLACES = ['connect', 'forwarded', 'decrypted'] as const;

for (const { status, code, type, says } of PROXY_TABLE) {
  test(`${status} with ${code} is ${type}, wherever the proxy says so and in whichever header`, () => {
    for (const at of PLACES) {
      for (const name of ['x-brd-err-code', 'x-brd-error-code', 'x-brd-error']) {
        const found = judgeProxyAnswer({ at, status, headers: { [name]: code } });
        assert.equal(found?.type, type, `${at} ${name}`);
        assert.ok(found.message.includes(`${status} (${code})`), found.message);
        assert.match(found.message, says);
      }
    }
  });

  test(`${code} with status 200 is ${type}, too`, () => {
    for (const at of PLACES) {
      assert.equal(judgeProxyAnswer({ at, status: 200, headers: { 'x-brd-err-code': code } })?.type, type);
    }
  });
}

const OTHERS: readonly [answer: ProxyAnswer, type: FailureType | null][] = [
  // Without codes, as any proxy answers CONNECT.
  [{ at: 'connect', status: 200, headers: {} }, null],
  [{ at: 'connect', status: 400, headers: {} }, 'proxy_config'],
  [{ at: 'connect', status: 403, headers: {} }, 'proxy_config'],
  [{ at: 'connect', status: 405, headers: {} }, 'proxy_config'],
  [{ at: 'connect', status: 407, headers: { 'proxy-authenticate': 'Basic' } }, 'proxy_config'],
  [{ at: 'connect', status: 408, headers: {} }, 'proxy_error'],
  [{ at: 'connect', status: 429, headers: {} }, 'rate_limited'],
  [{ at: 'connect', status: 302, headers: { location: 'http://a.test/' } }, 'proxy_error'],
  [{ at: 'connect', status: 500, headers: {} }, 'proxy_error'],
  [{ at: 'connect', status: 503, headers: { 'x-squid-error': 'ERR_CONNECT_FAIL 111' } }, 'server_error'],
  [{ at: 'connect', status: 503, headers: { 'x-squid-error': 'ERR_DNS_FAIL 0' } }, 'server_error'],
  [{ at: 'connect', status: 502, headers: { 'proxy-status': 'p; error=dns_timeout' } }, 'server_error'],
  [{ at: 'connect', status: 502, headers: { 'proxy-status': 'p; error=proxy_internal_error' } }, 'proxy_error'],
  // A forwarded request: what a target may say itself is the target's.
  [{ at: 'forwarded', status: 200, headers: {} }, null],
  [{ at: 'forwarded', status: 403, headers: {} }, null],
  [{ at: 'forwarded', status: 502, headers: {} }, null],
  [{ at: 'forwarded', status: 407, headers: {} }, 'proxy_config'],
  [{ at: 'forwarded', status: 403, headers: { 'x-squid-error': 'ERR_ACCESS_DENIED 0' } }, 'proxy_config'],
  [{ at: 'forwarded', status: 503, headers: { 'x-squid-error': 'ERR_CONNECT_FAIL 111' } }, 'server_error'],
  [{ at: 'forwarded', status: 401, headers: { server: 'tinyproxy/1.11.1' } }, 'proxy_config'],
  [{ at: 'forwarded', status: 500, headers: { server: 'tinyproxy/1.11.1' } }, 'proxy_error'],
  [{ at: 'forwarded', status: 401, headers: { server: 'tinyproxy/1.11.1', via: '1.1 tinyproxy' } }, null],
  [{ at: 'forwarded', status: 401, headers: { server: 'nginx' } }, null],
  // A cache in front of the site has a Proxy-Status, too.
  [{ at: 'forwarded', status: 200, headers: { 'proxy-status': 'cache; hit' } }, null],
  [{ at: 'forwarded', status: 404, headers: { 'proxy-status': 'cache; received-status=404' } }, null],
  [{ at: 'forwarded', status: 502, headers: { 'proxy-status': 'brd; error=connection_refused' } }, 'server_error'],
  [{ at: 'forwarded', status: 502, headers: { 'proxy-status': 'brd; details="peer_30040"' } }, 'proxy_error'],
  // Inside of a tunnel, a Proxy-Status and a 407 are the target's affair.
  [{ at: 'decrypted', status: 502, headers: { 'proxy-status': 'cdn; error=dns_timeout' } }, null],
  [{ at: 'decrypted', status: 407, headers: {} }, null],
  // This zone was closed.
  [{ at: 'forwarded', status: 200, headers: { 'x-brd-error': 'zone is not active' } }, 'proxy_error'],
  [{ at: 'forwarded', status: 200, headers: { 'x-brd-err-code': '' } }, 'proxy_error'],
  // These codes were introduced since.
  [{ at: 'connect', status: 403, headers: { 'x-brd-err-code': 'client_19999' } }, 'proxy_config'],
  [{ at: 'connect', status: 429, headers: { 'x-brd-err-code': 'policy_29999' } }, 'rate_limited'],
  [{ at: 'connect', status: 502, headers: { 'x-brd-err-code': 'policy_29999' } }, 'proxy_config'],
  [{ at: 'connect', status: 502, headers: { 'x-brd-err-code': 'client_19999' } }, 'proxy_error'],
];

for (const [answer, type] of OTHERS) {
  const { at, status, headers } = answer;
  test(`${status} ${JSON.stringify(headers)} (${at}) is ${type ?? "the target's answer, or an open tunnel"}`, () => {
    assert.equal(judgeProxyAnswer(answer)?.type ?? null, type);
  });
}

test('a throttling proxy is given the time it asks for, up to a minute', () => {
  const wait = (retryAfter: string) =>
    judgeProxyAnswer({ at: 'connect', status: 429, headers: { 'retry-after': retryAfter } })?.retryAfterMs;
  assert.equal(wait('7'), 7000);
  assert.equal(wait('86400'), 60_000);
  assert.equal(wait('tomorrow'), null);
});

test('what a proxy writes is not repeated, except for names of errors: it may be a user name or a password', () => {
  const leak = 'no such user brd-customer-hl_secret';
  for (const status of [200, 403, 407, 502]) {
    const headers = {
      'x-brd-error': leak,
      'x-brd-err-msg': leak,
      'x-squid-error': leak,
      'proxy-status': `${leak}; error="${leak}"`,
    };
    const found = judgeProxyAnswer({ at: 'forwarded', status, headers });
    assert.ok(found !== null && !/secret/.test(found.message + found.cause));
  }
  const squid = judgeProxyAnswer({ at: 'connect', status: 503, headers: { 'x-squid-error': 'ERR_DNS_FAIL 0' } });
  assert.equal(squid?.message, 'the proxy answered 503 (ERR_DNS_FAIL): it cannot reach the target');
});

test('every CONNECT without a 2xx is a failure, and every answer without a header of a proxy is a good one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 200, max: 599 }), (status) => {
      assert.equal(judgeProxyAnswer({ at: 'connect', status, headers: {} }) === null, status < 300);
      assert.equal(judgeProxyAnswer({ at: 'decrypted', status, headers: {} }), null);
    }),
  );
});
