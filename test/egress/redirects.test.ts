import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRedirect, nextHop } from '../../src/egress/redirects.ts';
import type { WebRequest } from '../../src/egress/web.ts';

const FROM = 'https://county.test/search?apn=1';
const SECRETS = {
  authorization: 'Basic c2VjcmV0',
  'x-api-key': 'secret',
  'x-csrf-token': 'secret',
  'x-anything': 'secret',
};
const PLAIN = { accept: 'text/html', 'accept-language': 'en', 'user-agent': 'a browser', 'sec-fetch-mode': 'navigate' };

function request(parts: Partial<WebRequest> = {}): WebRequest {
  return { method: 'GET', url: FROM, headers: {}, body: null, ...parts };
}

function followed(from: WebRequest, status: number, location: string): WebRequest {
  const next = nextHop(from, from.url, status, location);
  assert.ok(next.kind === 'follow', next.kind === 'failed' ? next.failure.message : '');
  return next.request;
}

test('five statuses are redirects, and no others', () => {
  const found = Array.from({ length: 900 }, (_, at) => at + 100).filter(isRedirect);
  assert.deepEqual(found, [301, 302, 303, 307, 308]);
});

test('a Location is read as a browser reads it, relative to the page', () => {
  const cases: readonly [location: string, url: string][] = [
    ['/parcel', 'https://county.test/parcel'],
    ['parcel', 'https://county.test/parcel'],
    ['?apn=2', 'https://county.test/search?apn=2'],
    ['//other.test/', 'https://other.test/'],
    ['http://other.test', 'http://other.test/'],
    ['  /spaces  ', 'https://county.test/spaces'],
    // UTF-8 in a header arrives as Latin-1.
    [Buffer.from('/straße').toString('latin1'), 'https://county.test/stra%C3%9Fe'],
    ['/stra\xdfe', 'https://county.test/stra%C3%9Fe'],
  ];
  for (const [location, url] of cases) assert.equal(followed(request(), 302, location).url, url, location);
});

test('a redirect without a Location, or with one that is not a URL, is a failed navigation', () => {
  for (const location of [undefined, '', 'http://', 'http://[::1', 'https://a b/']) {
    const next = nextHop(request(), FROM, 302, location);
    assert.ok(next.kind === 'failed', `${location}`);
    assert.equal(next.failure.type, 'navigation_failed');
  }
});

test('the same requests become GET as in browsers', () => {
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
  const after = (status: number) => methods.map((method) => followed(request({ method }), status, '/').method);
  assert.deepEqual(after(301), ['GET', 'HEAD', 'GET', 'PUT', 'PATCH', 'DELETE']);
  assert.deepEqual(after(302), ['GET', 'HEAD', 'GET', 'PUT', 'PATCH', 'DELETE']);
  assert.deepEqual(after(303), ['GET', 'HEAD', 'GET', 'GET', 'GET', 'GET']);
  assert.deepEqual(after(307), methods);
  assert.deepEqual(after(308), methods);
});

test('a POST that becomes GET drops its body and the headers that describe it', () => {
  const headers = { 'content-type': 'text/plain', origin: 'https://county.test', accept: 'text/html' };
  const post = request({ method: 'POST', headers, body: Buffer.from('form') });
  assert.deepEqual(followed(post, 302, '/'), {
    method: 'GET',
    url: 'https://county.test/',
    headers: { accept: 'text/html' },
    body: null,
  });
  const again = followed(post, 307, 'https://other.test/');
  assert.deepEqual([again.method, again.body, again.headers], ['POST', post.body, headers]);
});

test('what may be a credential stays with its origin: host, scheme and port', () => {
  const headers = { ...PLAIN, ...SECRETS };
  assert.deepEqual(followed(request({ headers }), 302, '/login').headers, headers);
  for (const elsewhere of ['https://other.test/', 'http://county.test/', 'https://county.test:8443/']) {
    assert.deepEqual(followed(request({ headers }), 302, elsewhere).headers, PLAIN, elsewhere);
  }
});

test('other origins learn which site sent us, but not which page; an unencrypted one learns nothing', () => {
  const headers = { referer: 'https://county.test/search?owner=smith' };
  assert.deepEqual(followed(request({ headers }), 302, '/x').headers, headers);
  assert.deepEqual(followed(request({ headers }), 302, 'https://other.test').headers, {
    referer: 'https://county.test/',
  });
  assert.deepEqual(followed(request({ headers }), 302, 'http://other.test').headers, {});
  assert.deepEqual(followed(request({ headers: { referer: 'nonsense' } }), 302, 'https://other.test').headers, {});
});
