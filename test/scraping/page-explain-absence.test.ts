import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Arrival } from '../../src/scraping/page/explain-absence.ts';
import { explainAbsence, F5_REFUSAL, judge, NOTICE, PROSE, pageOf, SEARCH } from './page-support.ts';

const NOTHING_FOUND = [
  ...['No records found', 'No Record Found', 'There are no records that match your criteria', 'No Results Found'],
  ...[
    'No results were found matching your search criteria',
    'No results to display',
    'Your search produced no results',
  ],
  ...[
    'Parcel Number not found',
    'This parcel is no longer active',
    'No bills',
    'Your search did not find any records.',
  ],
];

for (const text of NOTHING_FOUND) {
  test(`"${text}" explains what is not on a page, and does not condemn a page by itself`, () => {
    const body = pageOf(`<td>${text.replaceAll(' ', '&nbsp;\n')}</td>`);
    assert.equal(judge({ body }), null);
    const found = explainAbsence(body);
    assert.equal(found?.type, 'no_results');
    assert.ok(found.said.includes(text.replace(/\.$/, '')), found.said);
  });
}

test('on a page with much to say, a sentence above an empty table does not explain what is missing', () => {
  assert.equal(explainAbsence(pageOf(`${PROSE.repeat(500)}<h3>Exemptions</h3> No records found`)), null);
});

test('a parcel with a few rows of taxes and no liens is not a parcel that does not exist', () => {
  const taxes = '<tr><td>2024<td>$1,200.00'.repeat(10);
  const page = pageOf(`<b>SMITH JOHN</b><table>${taxes}</table><h3>Liens</h3> No records found`);
  assert.equal(explainAbsence(page), null);
});

test('what is not on a page is explained by maintenance, a stale session or a block, if the page says so', () => {
  const long = PROSE.repeat(500);
  assert.equal(explainAbsence(pageOf(`${long}The site is undergoing maintenance.`))?.type, 'maintenance');
  assert.equal(explainAbsence(pageOf(`${long}Your session has expired.`))?.type, 'navigation_failed');
  assert.equal(explainAbsence(pageOf('<script src="/_Incapsula_Resource?a=1"></script>'))?.type, 'blocked');
  assert.equal(explainAbsence(pageOf(long)), null);
});

test('what a scraper itself says about a kind leaves nothing of that kind to guess', () => {
  const consent = pageOf(`<p>No records found here may be used in court.</p>${SEARCH}`);
  assert.equal(explainAbsence(consent)?.type, 'no_results');
  assert.equal(explainAbsence(consent, { nothingFound: ['Your search found no parcel'] }), null);
  assert.equal(explainAbsence(pageOf(NOTICE), { maintenance: [] }), null);
  assert.equal(explainAbsence(F5_REFUSAL, { blocked: [] }), null);
});

test('a page with a form to which the site led instead is not the one that says "no records"', () => {
  const away: Arrival = { kind: 'led-away', asked: '/results', isBack: false };
  const words = '<p>No records found here may be used in court.</p>';
  const found = explainAbsence(pageOf(`${words}${SEARCH}`), {}, away);
  assert.deepEqual([found?.type, found?.said], ['navigation_failed', 'the site led to another page than /results']);
  assert.equal(explainAbsence(pageOf(words), {}, away)?.type, 'no_results');
  assert.equal(explainAbsence(pageOf(SEARCH), {}, away), null);
  assert.equal(explainAbsence(pageOf(SEARCH), {}, { ...away, isBack: true })?.type, 'navigation_failed');
});

test('invisible parts of a page explain nothing', () => {
  for (const unseen of [
    '<!-- a > b: No records found -->',
    '<script>if (a > b) say("No records found")</script>',
    '<STYLE>p::after { content: "No records found" }</STYLE >',
    '<noscript>No records found</noscript>',
    '<p title="No records found"></p>',
    '<script>No records found',
    '<!-- No records found',
  ]) {
    assert.equal(explainAbsence(pageOf(`<p>Parcel</p>${unseen}`)), null, unseen);
  }
  assert.equal(explainAbsence('<script></script><!----><p>No <b>records</b>\nfound')?.type, 'no_results');
});
