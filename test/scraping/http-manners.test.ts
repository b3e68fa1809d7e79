import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileHosts } from '../../src/domain/allowed-hosts.ts';
import { brandList } from '../../src/domain/brands.ts';
import { VisitCookies } from '../../src/scraping/http/cookies.ts';
import { chooseIdentity } from '../../src/scraping/http/identity.ts';
import { headersFor } from '../../src/scraping/http/request-headers.ts';
import { retryAfterMs } from '../../src/scraping/page/retry-after.ts';
import { NOW } from '../support/builders.ts';

test('Retry-After is read in seconds or as a date, and never beyond what is allowed', () => {
  assert.equal(retryAfterMs('0', NOW, 7_200_000), 0);
  assert.equal(retryAfterMs(' 1.5 ', NOW, 7_200_000), 1500);
  assert.equal(retryAfterMs('999999999999', NOW, 7_200_000), 7_200_000);
  assert.equal(retryAfterMs('Wed, 21 Oct 2015 07:28:00 GMT', NOW, 7_200_000), 0);
  assert.equal(retryAfterMs('Wed, 21 Oct 2115 07:28:00 GMT', NOW, 7_200_000), 7_200_000);
  assert.equal(retryAfterMs(new Date(NOW + 5000).toUTCString(), NOW, 7_200_000), 5000 - (NOW % 1000));
  for (const nonsense of [undefined, '', '-5', 'soon', '1e3', '2015-10-21', '5 minutes or so']) {
    assert.equal(retryAfterMs(nonsense, NOW, 7_200_000), null, String(nonsense));
  }
});

test('hosts are allowed exactly, or below a domain, on any port unless one is named', () => {
  const allows = compileHosts(['Treasurer.County.gov', '*.vendor.example', 'api.example:8443']);
  for (const host of [
    'treasurer.county.gov',
    'treasurer.county.gov:8080',
    'a.vendor.example',
    'a.b.vendor.example:81',
    'api.example:8443',
  ]) {
    assert.equal(allows(host), true, host);
  }
  for (const host of [
    'county.gov',
    'www.treasurer.county.gov',
    'vendor.example',
    'evilvendor.example',
    'api.example',
    'treasurer.county.gov.evil.example',
  ]) {
    assert.equal(allows(host), false, host);
  }
  assert.equal(compileHosts([])('anything.example'), true);
});

test('an identity is stable, and the next number is another one', () => {
  const word = fc.string({ maxLength: 20 });
  fc.assert(
    fc.property(word, word, fc.nat(1000), (jobId, itemId, identity) => {
      const one = chooseIdentity({ jobId, itemId, identity });
      assert.deepEqual(chooseIdentity({ jobId, itemId, identity }), one);
      assert.notDeepEqual(chooseIdentity({ jobId, itemId, identity: identity + 1 }), one);
    }),
  );
});

test('items of a job are spread over all identities', () => {
  const seen = new Set<string>();
  for (let item = 0; item < 200; item += 1) {
    const { userAgent, clientHints } = chooseIdentity({ jobId: 'job', itemId: `p-${item}`, identity: 0 });
    seen.add(userAgent);
    assert.equal(userAgent.includes('Chrome/'), clientHints['sec-ch-ua'] !== undefined);
  }
  assert.equal(seen.size, 7);
});

test('the list of brands is that of the version', () => {
  assert.equal(brandList('Google Chrome', 141), '"Google Chrome";v="141", "Not?A_Brand";v="8", "Chromium";v="141"');
  assert.equal(brandList('Google Chrome', 143), '"Google Chrome";v="143", "Chromium";v="143", "Not A(Brand";v="24"');
  assert.equal(brandList('Microsoft Edge', 139), '"Not;A=Brand";v="99", "Microsoft Edge";v="139", "Chromium";v="139"');
});

test('headers that browsers send only over TLS are sent only over TLS', () => {
  const chrome = [0, 1]
    .map((identity) => chooseIdentity({ jobId: 'j', itemId: 'i', identity }))
    .find(({ userAgent }) => userAgent.includes('Chrome'));
  assert.ok(chrome);
  const wanted = { method: 'GET', purpose: 'page', from: null, contentType: null, extra: {} } as const;
  const plain = headersFor(chrome, { ...wanted, url: new URL('http://county.example/') });
  assert.deepEqual(
    Object.keys(plain).filter((name) => name.startsWith('sec-')),
    [],
  );
  const secure = headersFor(chrome, { ...wanted, url: new URL('https://county.example/') });
  assert.equal(secure['sec-fetch-site'], 'none');
  assert.equal(secure['sec-fetch-dest'], 'document');
  assert.ok(secure['sec-ch-ua']);
  const next = headersFor(chrome, {
    ...wanted,
    url: new URL('https://county.example/b'),
    from: 'https://u:p@county.example/a?x#y',
  });
  assert.deepEqual([next['sec-fetch-site'], next['referer']], ['same-origin', 'https://county.example/a?x']);
  const away = headersFor(chrome, {
    ...wanted,
    url: new URL('https://other.example/'),
    from: 'https://county.example/a',
    purpose: 'json',
  });
  assert.deepEqual(
    [away['sec-fetch-site'], away['sec-fetch-mode'], away['referer']],
    ['cross-site', 'cors', 'https://county.example/'],
  );
});

const URL_A = 'https://www.county.example/a/b';

test('cookies go back where they belong', () => {
  const cookies = new VisitCookies();
  assert.equal(cookies.header(URL_A), null);
  cookies.keep(URL_A, ['sid=1; Path=/; Secure; HttpOnly', 'wide=2; Domain=county.example; Path=/', 'deep=3']);
  assert.equal(cookies.header(URL_A), 'deep=3; sid=1; wide=2');
  assert.equal(cookies.header('https://www.county.example/'), 'sid=1; wide=2');
  assert.equal(cookies.header('http://www.county.example/'), 'wide=2');
  assert.equal(cookies.header('https://api.county.example/'), 'wide=2');
  assert.equal(cookies.header('https://other.example/'), null);
  cookies.keep(URL_A, ['sid=; Path=/; Max-Age=0']);
  assert.equal(cookies.header('https://www.county.example/'), 'wide=2');
});

test('a cookie for another site, for a whole suffix, or that no header can carry is ignored', () => {
  const cookies = new VisitCookies();
  cookies.keep('https://www.county.co.uk/', [
    'a=1; Domain=other.example',
    'b=2; Domain=co.uk',
    'c=\u0007',
    'd=\u20ac',
    '=',
    `e=${'x'.repeat(5000)}`,
    '',
  ]);
  assert.equal(cookies.header('https://www.county.co.uk/'), null);
  cookies.keep('https://www.county.co.uk/', ['odd=a b,"c"; Expires=never']);
  assert.equal(cookies.header('https://www.county.co.uk/'), 'odd=a b,"c"');
});

test('a site has room for fifty cookies, and may still change those', () => {
  const cookies = new VisitCookies();
  for (let index = 0; index < 100; index += 1) cookies.keep(URL_A, [`c${index}=x; Path=/`]);
  assert.equal(cookies.header(URL_A)?.split('; ').length, 50);
  cookies.keep(URL_A, ['c7=changed; Path=/']);
  assert.match(cookies.header(URL_A) ?? '', /c7=changed/);
  // Other sites have room of their own, but all of them together are limited, too.
  cookies.keep('https://other.example/', ['a=1']);
  assert.equal(cookies.header('https://other.example/'), 'a=1');
  for (let index = 0; index < 1000; index += 1) cookies.keep(`https://h${index}.example/`, ['a=1']);
  const kept = Array.from({ length: 1000 }, (_, index) => cookies.header(`https://h${index}.example/`)).filter(
    (each) => each !== null,
  );
  assert.equal(kept.length, 300 - 51);
});
