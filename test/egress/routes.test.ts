import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRoutes } from '../../src/egress/routes.ts';
import { parseTarget } from '../../src/egress/target.ts';

function dialledFor(routes: string, url: string): unknown {
  const target = parseTarget(url);
  assert.ok(target.kind === 'target');
  return parseRoutes(routes).to(target);
}

const ROUTES = 'https://treasurer.maricopa.gov=http://127.0.0.1:4000, http://demo-county.test:8080=https://[::1]';

test('an origin with a route is dialled elsewhere, whatever the path', () => {
  const copy = { protocol: 'http:', hostname: '127.0.0.1', port: 4000 };
  assert.deepEqual(dialledFor(ROUTES, 'https://treasurer.maricopa.gov/Parcel?x=1'), copy);
  assert.deepEqual(dialledFor(ROUTES, 'https://TREASURER.maricopa.gov:443'), copy);
  const other = { protocol: 'https:', hostname: '::1', port: 443 };
  assert.deepEqual(dialledFor(ROUTES, 'http://demo-county.test:8080/'), other);
});

test('another scheme, port or host is another origin, and goes where its URL says', () => {
  const straight = [
    ['http://treasurer.maricopa.gov/', 'http:', 'treasurer.maricopa.gov', 80],
    ['https://treasurer.maricopa.gov:8443/', 'https:', 'treasurer.maricopa.gov', 8443],
    ['https://www.treasurer.maricopa.gov/', 'https:', 'www.treasurer.maricopa.gov', 443],
    ['http://demo-county.test/', 'http:', 'demo-county.test', 80],
  ] as const;
  for (const [url, protocol, hostname, port] of straight) {
    assert.deepEqual(dialledFor(ROUTES, url), { protocol, hostname, port });
    assert.deepEqual(dialledFor('', url), { protocol, hostname, port });
  }
});

test('a place on the default port of its scheme is dialled there', () => {
  const place = { protocol: 'http:', hostname: 'copy.test', port: 80 };
  assert.deepEqual(dialledFor('https://a.gov=http://copy.test', 'https://a.gov/'), place);
});

test('an entry that is not origin=origin is an error that repeats it', () => {
  const bad = [
    ...['https://a.gov', 'https://a.gov=', '=http://127.0.0.1', 'a.gov=http://127.0.0.1', 'https://a.gov=127.0.0.1:80'],
    ...['https://a.gov/path=http://b.gov', 'https://a.gov=http://b.gov/path', 'https://a.gov=http://b.gov?x'],
    ...['https://u:p@a.gov=http://b.gov', 'https://a.gov=ftp://b.gov', 'https://a.gov=http://b.gov=http://c.gov'],
    ...['https://a.gov=http://b.gov:0', ''],
  ];
  for (const entry of bad) {
    assert.throws(
      () => parseRoutes(`http://x.gov=http://y.gov,${entry}`),
      (error: Error) => error.message.includes(`"${entry}" is not a route: write origin=origin`),
      entry,
    );
  }
  assert.throws(
    () => parseRoutes('https://a.gov=http://b.gov,https://A.gov:443=http://c.gov'),
    /"https:\/\/A.gov:443=http:\/\/c.gov" is a second route for https:\/\/a.gov/,
  );
});
