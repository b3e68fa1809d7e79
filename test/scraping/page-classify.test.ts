import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type FailureType, isRetryable } from '../../src/domain/failure.ts';
import { classify } from '../../src/scraping/page/classify.ts';
import type { SeenPage } from '../../src/scraping/page/seen-page.ts';
import { compileSigns, type Signs } from '../../src/scraping/page/signs.ts';
import { NOW } from '../support/builders.ts';
import { readSources } from '../support/syntax.ts';
import { explainAbsence, F5_REFUSAL, type Given, GOOD, judge, NOTICE, PROSE, pageOf, SEARCH } from './page-support.ts';

const BY_STATUS: readonly (readonly [number, FailureType, RegExp])[] = [
  [400, 'structure_changed', /does not accept/],
  [401, 'blocked', /refuses to show/],
  [402, 'structure_changed', /does not accept/],
  [403, 'blocked', /refuses to show/],
  [404, 'not_found', /no such page/],
  [405, 'structure_changed', /does not accept/],
  [406, 'structure_changed', /does not accept/],
  [408, 'timeout', /waited too long/],
  [409, 'structure_changed', /does not accept/],
  [410, 'not_found', /no such page/],
  [418, 'structure_changed', /does not accept/],
  [422, 'structure_changed', /does not accept/],
  [425, 'navigation_failed', /send the request again/],
  [429, 'rate_limited', /too often/],
  [451, 'blocked', /refuses to show/],
  [500, 'server_error', /failed/],
  [502, 'server_error', /failed/],
  [503, 'server_error', /failed/],
  [522, 'server_error', /failed/],
  [304, 'navigation_failed', /did not say where/],
];

for (const [status, type, message] of BY_STATUS) {
  test(`status ${status} is ${type}`, () => {
    const found = judge({ status });
    assert.equal(found?.type, type);
    assert.match(found.message, message);
    assert.ok(found.message.includes(`(${status}, https://county.example/parcel)`));
    assert.equal(judge({ status, expectStatus: [status] }), null);
  });
}

test('of all 4xx answers, only 401, 403, 408, 425, 429 and 451 are worth another try', () => {
  const retried = [];
  for (let status = 400; status < 500; status += 1) {
    const found = judge({ status });
    if (found !== null && isRetryable(found.type)) retried.push(status);
  }
  assert.deepEqual(retried, [401, 403, 408, 425, 429, 451]);
});

test('a good answer is good, whatever its size and kind', () => {
  assert.equal(judge({}), null);
  assert.equal(judge({ body: '' }), null);
  assert.equal(judge({ status: 204, body: '' }), null);
  assert.equal(judge({ body: pageOf(PROSE.repeat(1000)) }), null);
  assert.equal(judge({ headers: { 'content-type': 'application/json' }, body: '{"maintenance":"px-captcha"}' }), null);
});

test('Retry-After travels with a refusal, in seconds or as a date', () => {
  assert.equal(judge({ status: 429, headers: { 'retry-after': '120' } })?.retryAfterMs, 120_000);
  const date = new Date(Math.ceil(NOW / 1000) * 1000 + 60_000).toUTCString();
  const found = judge({ status: 503, headers: { 'retry-after': date } });
  assert.equal(found?.type, 'rate_limited');
  assert.equal(found.retryAfterMs, Math.ceil(NOW / 1000) * 1000 + 60_000 - NOW);
  assert.equal(judge({ status: 429 })?.retryAfterMs, null);
  assert.equal(judge({ status: 502, headers: { 'retry-after': '5' } })?.type, 'server_error');
});

const VIEW_STATE = ['Validation of viewstate MAC failed.', 'The state information is invalid for this page'];
for (const text of VIEW_STATE) {
  test(`a server error that says "${text}" is a stale session, to be started over`, () => {
    const found = judge({ status: 500, body: pageOf(`<h2>${text}</h2>`) });
    assert.equal(found?.type, 'navigation_failed');
    assert.match(found.message, /view state was stale/);
  });
}

const BLOCK_PAGES = {
  'a header of Cloudflare': { status: 429, headers: { 'cf-mitigated': 'challenge', 'retry-after': '7' }, body: '' },
  'a challenge of Cloudflare': {
    body: pageOf(`<script>window._cf_chl_opt={cvId:'3'}</script>${PROSE.repeat(200)}`, 'Just a moment...'),
  },
  'a challenge of Cloudflare in another language': {
    body: pageOf('<script>window._cf_chl_opt={}</script>', 'Un momento…'),
  },
  'a refusal of Cloudflare': {
    body: pageOf('<h1>Sorry, you have been blocked</h1>', 'Attention Required! | Cloudflare'),
  },
  'the incident of Imperva': { body: pageOf('Request unsuccessful. Incapsula incident ID: 891000430-1', '') },
  'the frame of Imperva': {
    body: `<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"></head><body><iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31&xinfo=9-1"></iframe></body></html>`,
  },
  'the script of Imperva alone on a small page': {
    body: pageOf('<script src="/_Incapsula_Resource?SWJIYLWA=719"></script>', ''),
  },
  'the script of Cloudflare alone on a small page': {
    body: pageOf('<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/jsch/v1"></script>', ''),
  },
  'a refusal of Akamai': {
    body: `<HTML><HEAD><TITLE>Access Denied</TITLE></HEAD><BODY><H1>Access Denied</H1>Reference&#32;&#35;18&#46;2d1f</BODY></HTML>`,
  },
  'a plain refusal of Akamai': { body: pageOf('Reference #18.2d1f', 'Access Denied') },
  'a challenge of AWS WAF': { body: pageOf('<script>window.awsWafCookieDomainList = [];</script>', '') },
  'a long challenge of AWS WAF': {
    body: pageOf(`<script>window.awsWafCookieDomainList = [];window.gokuProps={}</script>${PROSE.repeat(50)}`, ''),
  },
  'a header of AWS WAF': { status: 202, headers: { 'x-amzn-waf-action': 'challenge' }, body: '' },
  'a header of DataDome': { status: 403, headers: { 'x-datadome': 'protected' }, body: '' },
  'a captcha of DataDome': { body: pageOf('<script src="https://ct.captcha-delivery.com/c.js"></script>', 'county') },
  'a captcha of PerimeterX': { body: pageOf('<div id="px-captcha"></div><p>Press & Hold to confirm</p>', '') },
  'a refusal of F5': { body: F5_REFUSAL },
} satisfies Record<string, Given>;

for (const [name, given] of Object.entries<Given>(BLOCK_PAGES)) {
  test(`${name} is a block, even with a good status and where that status is expected`, () => {
    const found = judge(given);
    assert.equal(found?.type, 'blocked', found?.message ?? 'nothing found');
    assert.equal(judge({ ...given, expectStatus: [given.status ?? 200] })?.type, 'blocked');
  });
}

test('the length of the pause that a block page names is kept', () => {
  assert.equal(judge(BLOCK_PAGES['a header of Cloudflare'])?.retryAfterMs, 7000);
});

test('a good page of any size with weak markers in it is not blocked when there is something to read', () => {
  const marker = fc.constantFrom(
    '<script src="/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3"></script>',
    '<script>(function(){a.src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"})()</script>',
    '<script>window._pxAppId="PX1";var sel="#px-captcha"</script>',
    '<script>window.awsWafCookieDomainList = ["county.example"]</script>',
  );
  const paragraphs = fc.integer({ min: 25, max: 3000 });
  fc.assert(
    fc.property(fc.array(marker, { minLength: 1, maxLength: 4 }), paragraphs, fc.boolean(), (markers, count, first) => {
      const scripts = markers.join('');
      const body = pageOf(first ? scripts + PROSE.repeat(count) : PROSE.repeat(count) + scripts);
      assert.equal(judge({ body }), null);
    }),
    { numRuns: 40 },
  );
});

test('a page that is rendered by scripts is not taken for a block because it says little itself', () => {
  const weak = '<script src="/_Incapsula_Resource?SWJIYLWA=719"></script>';
  assert.equal(judge({ body: pageOf(`${weak}<script>${'draw();'.repeat(2000)}</script>`) }), null);
  const strong = '<script>window.captcha="#px-captcha"</script>';
  assert.equal(judge({ body: pageOf(`${strong}<script>${'draw();'.repeat(50_000)}</script>`) }), null);
});

test('a good answer that DataDome lets pass is good, and a missing page is missing', () => {
  assert.equal(judge({ headers: { 'x-datadome': 'protected' } }), null);
  assert.equal(judge({ status: 404, headers: { 'x-datadome': 'protected' } })?.type, 'not_found');
});

test('a 503 that mentions maintenance is maintenance, whatever else it says', () => {
  const body = pageOf(`${PROSE.repeat(500)}<p>We are currently conducting maintenance.</p>`);
  const found = judge({ status: 503, body, headers: { 'retry-after': '60' } });
  assert.equal(found?.type, 'maintenance');
  assert.equal(found.retryAfterMs, 60_000);
  assert.match(found.message, /currently conducting maintenance/);
  assert.equal(judge({ status: 500, body })?.type, 'server_error');
  assert.equal(judge({ status: 503, body: pageOf('', 'The site is under maintenance') })?.type, 'maintenance');
});

test('a page with a good status is maintenance if that is what the page is about', () => {
  for (const body of [
    pageOf('<p>We are currently conducting maintenance.</p>'),
    pageOf(PROSE.repeat(500), 'Site under maintenance'),
    pageOf(`<h1>Down for scheduled maintenance</h1>${PROSE.repeat(500)}`),
    pageOf('<h1 class="big">Scheduled <b>Maintenance</b></h1>'),
  ]) {
    assert.equal(judge({ body })?.type, 'maintenance', body.slice(0, 100));
  }
});

test('to a visitor that looks for something on every page, a notice of maintenance only explains what is missing', () => {
  const body = pageOf('<p>We are currently conducting maintenance.</p>');
  assert.equal(judge({ body, notices: 'if-missing' }), null);
  assert.equal(explainAbsence(body)?.type, 'maintenance');
  const titled = pageOf(PROSE.repeat(500), 'Site under maintenance');
  assert.equal(judge({ body: titled, notices: 'if-missing' })?.type, 'maintenance');
});

test('a good page that mentions maintenance is good', () => {
  for (const body of [
    pageOf(`<p>We are currently conducting maintenance.</p>${PROSE.repeat(200)}`),
    pageOf(`<p>We are currently conducting maintenance.</p>${PROSE.repeat(20)}`),
    pageOf('<h1>Road Maintenance District</h1><p>Paid</p>'),
    pageOf('<p>On Sunday there will be scheduled maintenance.</p>'),
    pageOf('<td>Levee maintenance</td><td>$12.50</td>'),
  ]) {
    assert.equal(judge({ body }), null, body.slice(0, 100));
  }
});

test('a notice of maintenance on a short page with a form is a notice', () => {
  for (const form of [SEARCH, '<form><button>I agree</button></form>', '<FORM ID=f><SELECT NAME=y></SELECT></FORM>']) {
    assert.equal(judge({ body: pageOf(`<h1>Search</h1>${form}${NOTICE}`) }), null, form);
    assert.equal(judge({ body: pageOf(`<h1>Scheduled maintenance</h1>${form}`) }), null, form);
  }
});

test('without a form to fill, and in a title, it is what the page is about', () => {
  const hidden = '<form id=aspnetForm><input type="hidden" name="__VIEWSTATE" value="x"></form>';
  for (const body of [
    pageOf(NOTICE),
    pageOf(`${hidden}${NOTICE}`),
    pageOf(`<input name=q>${NOTICE}`),
    pageOf(SEARCH, 'Site under maintenance'),
  ]) {
    assert.equal(judge({ body })?.type, 'maintenance', body);
  }
});

test('what the scraper asks for next outranks every guess, but no certainty', () => {
  for (const body of [pageOf(NOTICE), pageOf(GOOD, 'Site under maintenance'), F5_REFUSAL]) {
    assert.notEqual(judge({ body }), null, body);
    assert.equal(judge({ body, hasExpected: true }), null, body);
  }
  assert.equal(judge({ ...BLOCK_PAGES['a header of Cloudflare'], hasExpected: true })?.type, 'blocked');
  assert.equal(judge({ status: 503, body: pageOf(NOTICE), hasExpected: true })?.type, 'maintenance');
});

test("a scraper's own signs of a kind replace the guesses of that kind, and of no other", () => {
  const maintenance: Signs = { maintenance: ['our office system is resting'] };
  assert.equal(judge({ body: pageOf(NOTICE), signs: maintenance }), null);
  assert.equal(judge({ body: pageOf(NOTICE), signs: { maintenance: [] } }), null);
  assert.equal(judge({ body: pageOf(NOTICE), signs: { nothingFound: ['none'] } })?.type, 'maintenance');
  assert.equal(judge({ body: pageOf('Our office system is resting'), signs: maintenance })?.type, 'maintenance');
  const weak = { ...BLOCK_PAGES['a refusal of F5'], signs: { blocked: ['Unusual activity'] } };
  assert.equal(judge(weak), null);
  const certain = { ...BLOCK_PAGES['a challenge of Cloudflare'], signs: { blocked: ['Unusual activity'] } };
  assert.equal(judge(certain)?.type, 'blocked');
});

test("a scraper's own signs decide at once, in any readable answer", () => {
  const signs: Signs = {
    blocked: ['Unusual  Traffic'],
    maintenance: [/office is closed/gi],
    nothingFound: ['0 hits (none)'],
  };
  assert.equal(judge({ signs, body: pageOf('unusual\n traffic from you') })?.type, 'blocked');
  assert.equal(judge({ signs, body: pageOf('0 hits (none)'), status: 404 })?.type, 'no_results');
  assert.equal(
    judge({ signs, headers: { 'content-type': 'application/json' }, body: '"0 hits (none)"' })?.type,
    'no_results',
  );
  assert.equal(judge({ signs, headers: { 'content-type': 'image/png' }, body: '0 hits (none)' }), null);
  assert.equal(judge({ signs }), null);
});

test('a sign that remembers where it was would miss every second page, and must not', () => {
  const compiled = compileSigns({ maintenance: [/office is closed/gi, /we moved/y] });
  const answer = { status: 200, headers: { 'content-type': 'text/html' }, url: 'https://county.example/' };
  for (const body of ['Office is closed', 'Office is closed', 'Sorry, we moved', 'Sorry, we moved']) {
    const found = classify(
      { ...answer, source: () => body, title: null },
      { signs: compiled, expectStatus: [], hasExpected: () => false, now: NOW, maxRetryAfterMs: 3_600_000 },
    );
    assert.equal(found?.type, 'maintenance', body);
  }
});

test('a page that a browser rendered is judged like an answer: by its HTML, its title, and its status if there was one', () => {
  const rendered = (page: Partial<SeenPage>) =>
    classify(
      { url: 'https://county.example/app#parcel', status: null, headers: {}, source: () => GOOD, title: null, ...page },
      { signs: compileSigns({}), expectStatus: [], hasExpected: () => false, now: NOW, maxRetryAfterMs: 3_600_000 },
    );
  assert.equal(rendered({}), null);
  assert.equal(rendered({ status: 200, title: 'Parcel 1' }), null);
  assert.equal(rendered({ status: 404 })?.type, 'not_found');
  assert.equal(rendered({ title: 'Attention Required! | Cloudflare' })?.type, 'blocked');
  const maintenance = rendered({ title: 'Site Maintenance' });
  assert.equal(maintenance?.type, 'maintenance');
  assert.equal(maintenance.message, 'the site says "Site Maintenance" (https://county.example/app#parcel)');
  assert.equal(rendered({ source: () => pageOf('<script>_cf_chl_opt</script>', 'Just a moment...') })?.type, 'blocked');
});

test('page judgement knows nothing of how a page was fetched: its files import no kit and no egress', () => {
  const files = readSources(['src/scraping/page']);
  assert.ok(files.length >= 5, 'the files were not found');
  for (const { path, text } of files) {
    const imported = [...text.matchAll(/\bfrom '([^']+)'/g)].map(([, specifier]) => specifier ?? '');
    const foreign = imported.filter((each) => !/^(?:\.\/|\.\.\/\.\.\/domain\/|\.\.\/scrape-failure|node:)/.test(each));
    assert.deepEqual(foreign, [], path);
  }
});

test('no source makes the scan fail or slows it down', () => {
  const hostile = fc.constantFrom(
    '<',
    '<script',
    '<script>',
    '<!--',
    '<title>',
    '</',
    '<h1 ',
    '<form ',
    '<input type=hidden ',
    '&nbsp;',
    'under ',
    'maintenance ',
  );
  fc.assert(
    fc.property(fc.array(hostile, { minLength: 1, maxLength: 4 }), (parts) => {
      const body = parts.join('').repeat(20_000);
      judge({ body, status: 503 });
      judge({ body: `<title>Under maintenance</title>${body}` });
      explainAbsence(body, {}, { kind: 'led-away', asked: '/', isBack: true });
    }),
    { numRuns: 20 },
  );
});
