import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../src/domain/failure.ts';
import { expect } from '../../src/scraping/extract/expect.ts';
import { StoredPage } from '../../src/scraping/extract/stored-page.ts';
import { ScrapeFailure } from '../../src/scraping/scrape-failure.ts';

const failsAs = (type: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ScrapeFailure, String(error));
  assert.equal(error.failure.type, type);
  assert.match(error.message, message);
  return true;
};

test('a page that does not say what it should is treated as another page', () => {
  const page = new StoredPage('<title>Home</title><h1>Tax Statement</h1>', 'https://county.example/');
  expect.text(page, 'tax statement');
  expect.text(page, /Tax/);
  const other = failsAs('navigation_failed', /not the requested page: "Receipt" .*title "Home"/);
  assert.throws(() => expect.text(page, 'Receipt'), other);
  assert.throws(() => expect.text(page, /Receipt/), failsAs('navigation_failed', /\/Receipt\//));
});

test('what a page says about itself takes precedence over what it does not say', () => {
  class Closed extends StoredPage {
    protected override absent(): ScrapeFailure {
      return new ScrapeFailure(failure('maintenance', 'closed until Monday'));
    }
  }
  const page = new Closed('<p>We are closed</p>', 'https://county.example/');
  assert.throws(() => expect.text(page, 'Tax Statement'), failsAs('maintenance', /closed until Monday/));
});

test('all fields that hold nothing are named', () => {
  const data = {
    owner: ' ',
    tax: Number.NaN,
    year: 0,
    rows: [],
    facts: {},
    note: null,
    paid: false,
    apn: '1',
    x: undefined,
  };
  expect.fields(data, ['year', 'paid', 'apn']);
  const all = ['owner', 'tax', 'year', 'rows', 'facts', 'note', 'paid', 'apn', 'x'] as const;
  const message = /^nothing was read for owner, tax, rows, facts, note, x$/;
  assert.throws(() => expect.fields(data, all), failsAs('structure_changed', message));
});

test('the page of another item is not taken for that of this one', () => {
  expect.sameItem('Parcel# 200-14-030a'.replace('Parcel# ', ''), '20014030A');
  const other = failsAs('navigation_failed', /^the page is about "200-14-031", not "200-14-030"$/);
  assert.throws(() => expect.sameItem('200-14-031', '200-14-030'), other);
  expect.sameItem('R0012', '12', (id) => id.replace(/^R?0*/, ''));
});
