import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProxyServer, showProxyServer } from '../../src/domain/proxy-server.ts';

const NOBODY = { user: '', password: '' };

test('a proxy is a host and a port, with or without a scheme, a user and a password', () => {
  const cases: readonly [text: string, parsed: unknown][] = [
    ['brd.superproxy.io:44445', { protocol: 'http', hostname: 'brd.superproxy.io', port: 44445, ...NOBODY }],
    [' http://127.0.0.1:8080/ ', { protocol: 'http', hostname: '127.0.0.1', port: 8080, ...NOBODY }],
    ['https://proxy.test', { protocol: 'https', hostname: 'proxy.test', port: 443, ...NOBODY }],
    ['socks5://a:b%40c@[::1]', { protocol: 'socks5', hostname: '::1', port: 1080, user: 'a', password: 'b@c' }],
    ['a:100%25@proxy.test:1', { protocol: 'http', hostname: 'proxy.test', port: 1, user: 'a', password: '100%' }],
    ['socks5h://p.test:22228', { protocol: 'socks5h', hostname: 'p.test', port: 22228, ...NOBODY }],
  ];
  for (const [text, parsed] of cases) assert.deepEqual(parseProxyServer(text), parsed, text);
});

test('what cannot be a proxy is refused, and its password is not repeated', () => {
  for (const text of [
    '',
    'ftp://u:hunter22@p.test',
    'http://u:hunter22@p.test/path',
    'http://u:hunter22@p.test:0',
    'http://u:hunter22@:80',
    'http://u:hunter22@p.test:80?x',
    `http://u:hunter22${'x'.repeat(256)}@p.test`,
  ]) {
    assert.throws(
      () => parseProxyServer(text),
      (error) => error instanceof Error && /^must /.test(error.message) && !/hunter22/.test(error.message),
      text,
    );
  }
});

test('a proxy is shown without its user and password', () => {
  assert.equal(showProxyServer(parseProxyServer('socks5://ann:hunter22@[::1]:9')), 'socks5://[::1]:9');
});
