import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_URL_LENGTH, parseTarget, type Target } from '../../src/egress/target.ts';

function target(url: string): Target {
  const parsed = parseTarget(url);
  assert.ok(parsed.kind === 'target', `${url}: ${parsed.kind === 'failed' ? parsed.failure.message : ''}`);
  return parsed;
}

function refusal(url: string): string {
  const parsed = parseTarget(url);
  assert.ok(parsed.kind === 'failed', url);
  return `${parsed.failure.type}: ${parsed.failure.message}`;
}

test('a URL is taken apart, and its secrets and its fragment are taken off', () => {
  assert.deepEqual(parseTarget('HTTPS://Jo%40x:s%3Acret@Example.GOV:8443/a/../b?c=d#e'), {
    kind: 'target',
    url: 'https://example.gov:8443/b?c=d',
    origin: 'https://example.gov:8443',
    protocol: 'https:',
    hostname: 'example.gov',
    port: 8443,
    isLiteral: false,
    authorization: `Basic ${Buffer.from('Jo@x:s:cret').toString('base64')}`,
  });
});

test('an empty fragment and an empty user leave no trace in the URL', () => {
  assert.equal(target('http://@example.gov/#').url, 'http://example.gov/');
  assert.equal(target('http://:@example.gov/?a#').url, 'http://example.gov/?a');
});

test('the port is that of the scheme if none is named', () => {
  assert.equal(target('http://example.gov').port, 80);
  assert.equal(target('https://example.gov').port, 443);
  assert.equal(target('https://example.gov:443/').origin, 'https://example.gov');
});

test('an address is recognised however it is written, and IPv6 is reported without brackets', () => {
  for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '127.1', '0177.0.0.1', '127.0.0.1.', '１２７。1']) {
    const { hostname, isLiteral } = target(`http://${host}/`);
    assert.deepEqual([hostname, isLiteral], ['127.0.0.1', true], host);
  }
  const { hostname, isLiteral, url } = target('http://[0:0::FFFF:7f00:1]:81/');
  assert.deepEqual([hostname, isLiteral, url], ['::ffff:7f00:1', true, 'http://[::ffff:7f00:1]:81/']);
  assert.equal(target('http://example.gov./').isLiteral, false);
});

test('a user without a password, a lone percent sign and letters beyond ASCII make a header too', () => {
  const decoded = (url: string) => Buffer.from(target(url).authorization?.slice(6) ?? '', 'base64').toString();
  assert.equal(decoded('http://jo@example.gov/'), 'jo:');
  assert.equal(decoded('http://:pw@example.gov/'), ':pw');
  assert.equal(decoded('http://jo:100%@example.gov/'), 'jo:100%');
  assert.equal(decoded('http://jö:ü@example.gov/'), 'jö:ü');
  assert.equal(target('http://example.gov/').authorization, null);
});

test('other schemes, missing hosts and port 0 are refused', () => {
  for (const url of [
    'file:///etc/passwd',
    'ftp://example.gov/',
    'javascript:alert(1)',
    'data:text/html,x',
    'ws://a/',
  ]) {
    assert.match(refusal(url), /^refused_address: .*only http: and https:/, url);
  }
  assert.match(refusal('http://./'), /^refused_address: .*names no host/);
  assert.match(refusal('http://example.gov:0/'), /^refused_address: .*port 0/);
});

test('a URL that cannot be parsed is a failed navigation, reported without what may be a password', () => {
  for (const url of ['', '/relative', 'example.gov', 'http://', 'http://[::1', 'http://a b/', 'http://1.2.3.256/']) {
    assert.equal(refusal(url), `navigation_failed: "${url}" is not a URL`);
  }
  for (const url of [
    'http://jo:secret@a b/',
    'http://jo:se/secret@host:x/',
    'http:\\\\jo:secret@:0:/',
    'jo secret@host',
  ]) {
    const told = refusal(url);
    assert.ok(told.includes('…@') && !told.includes('secret'), told);
  }
  assert.ok(refusal(`http://a b/${'x'.repeat(5000)}`).length < 300);
});

test('a URL may have eight thousand characters and no more, even after it is escaped', () => {
  const fits = `http://example.gov/${'x'.repeat(MAX_URL_LENGTH - 19)}`;
  assert.equal(target(fits).url, fits);
  assert.match(refusal(`${fits}x`), /^refused_address: a URL of 8193 characters is too long/);
  assert.match(refusal(`http://example.gov/${'a/../'.repeat(2000)}`), /^refused_address: a URL of 10019 characters/);
  assert.match(refusal(`http://example.gov/${'ä'.repeat(2000)}`), /^refused_address: a URL of 12019 characters/);
});
