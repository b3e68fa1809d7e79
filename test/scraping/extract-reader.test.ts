import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reader } from '../../src/scraping/extract/reader.ts';
import { StoredPage } from '../../src/scraping/extract/stored-page.ts';
import { ScrapeFailure } from '../../src/scraping/scrape-failure.ts';

const URL_OF_PAGE = 'https://county.example/a/parcel?id=1';
const page = (html: string) => new StoredPage(`<title>A Parcel</title>${html}`, URL_OF_PAGE);
const changed = (message: string) => (error: unknown) => {
  assert.ok(error instanceof ScrapeFailure, String(error));
  assert.deepEqual([error.failure.type, error.failure.message], ['structure_changed', message]);
  return true;
};
const absent = (what: string) => changed(`${what} is not on the page (title "A Parcel", ${URL_OF_PAGE})`);

const PARCEL = page(`
  <div id="owner">A. Smith<br>1 Main St</div> <a id="bill" href="../bill.pdf?y=1&amp;z=2">Bill</a>
  <span id="tax">$1,129.60</span> <span id="change">-11.70%</span> <span id="acres">1,200.5</span> <span id="sold">1/5/2025</span>
  <span id="empty"> &nbsp; </span> <span id="odd">abc</span> <span id="either">1.234 €</span> <a id="script" href="javascript:void(0)">x</a>
  <table id="t"><tr><th>A</th></tr><tr><td>1</td></tr></table> <dl id="facts"><dt>Year:</dt><dd>2025</dd></dl>`);

test('each reader makes its own kind of value', () => {
  assert.equal(PARCEL.text('#owner'), 'A. Smith 1 Main St');
  assert.deepEqual(PARCEL.lines('#owner'), ['A. Smith', '1 Main St']);
  assert.equal(PARCEL.attribute('#bill', 'HREF'), '../bill.pdf?y=1&z=2');
  assert.equal(PARCEL.link('#bill'), 'https://county.example/bill.pdf?y=1&z=2');
  assert.equal(PARCEL.money('#tax'), 1129.6);
  assert.equal(PARCEL.percent('#change'), -11.7);
  assert.equal(PARCEL.number('#acres'), 1200.5);
  assert.equal(PARCEL.date('#sold'), '2025-01-05');
  assert.deepEqual(PARCEL.table('#t').column('A'), ['1']);
  assert.deepEqual(PARCEL.keyValues('#facts'), { Year: '2025' });
});

/** Every reader that takes a selector, in both ways to call it. */
const READERS = ['text', 'lines', 'link', 'number', 'money', 'percent', 'date', 'table', 'keyValues'] as const;

test('a missing element fails with its selector, and is null where it is optional', () => {
  for (const name of READERS) {
    assert.throws(() => PARCEL[name]('#none'), absent('#none'), name);
    assert.equal(PARCEL.optional[name]('#none'), null, name);
  }
  assert.throws(() => PARCEL.attribute('#none', 'href'), absent('#none'));
  assert.equal(PARCEL.optional.attribute('#none', 'href'), null);
  assert.throws(() => PARCEL.within('#none'), absent('#none'));
});

test('an element that is empty fails too, and says what is missing', () => {
  for (const name of ['text', 'lines', 'number', 'money', 'percent', 'date'] as const) {
    assert.throws(() => PARCEL[name]('#empty'), absent('the text of #empty'), name);
    assert.equal(PARCEL.optional[name]('#empty'), null, name);
  }
  assert.throws(() => PARCEL.link('#tax'), absent('the attribute href of #tax'));
  assert.throws(() => PARCEL.attribute('#tax', 'title'), absent('the attribute title of #tax'));
  assert.equal(PARCEL.optional.attribute('#tax', 'title'), null);
});

test('a value that cannot be read fails in both ways, and is quoted', () => {
  for (const reader of [PARCEL, PARCEL.optional]) {
    assert.throws(() => reader.money('#odd'), changed('#odd: "abc" is not an amount of money'));
    assert.throws(() => reader.money('#either'), changed('#either: "1.234 €" is not an amount of money'));
    assert.throws(() => reader.number('#odd'), changed('#odd: "abc" is not a number'));
    assert.throws(() => reader.percent('#odd'), changed('#odd: "abc" is not a percentage'));
    assert.throws(() => reader.date('#odd'), changed('#odd: "abc" is not a date'));
    assert.throws(() => reader.link('#script'), changed('#script: "javascript:void(0)" is not a URL'));
  }
  const long = page(`<p>${'x'.repeat(5000)}</p>`);
  assert.throws(() => long.money('p'), changed(`p: "${'x'.repeat(59)}…" is not an amount of money`));
});

test('what is not a selector is a bug, not a change of the page', () => {
  const bug = { name: 'Error', message: '"td[" is not a selector' };
  assert.throws(() => PARCEL.text('td['), bug);
  assert.throws(() => PARCEL.optional.text('td['), bug);
  assert.throws(() => PARCEL.has('td['), bug);
  assert.throws(() => PARCEL.all('td[', () => 1), bug);
});

test('links are relative to what the page says they are', () => {
  assert.equal(page('<base href="/b/"><a href="c">x</a>').link('a'), 'https://county.example/b/c');
  assert.equal(page('<base href="/b/"><base href="/c/"><a href="c">x</a>').link('a'), 'https://county.example/b/c');
  assert.equal(page('<base href="http://[bad"><a href="c">x</a>').link('a'), 'https://county.example/a/c');
});

test('a page says what a person sees on it, whatever the case and the spaces', () => {
  const parcel = page('<p>No  Records<br>found</p><p hidden>Maintenance</p><script>blocked</script>');
  assert.ok(parcel.says('no records found'));
  assert.ok(parcel.says(' No\n records '));
  assert.ok(parcel.says(/records FOUND/i));
  assert.ok(!parcel.says(/records FOUND/));
  for (const unseen of ['Maintenance', 'blocked', 'A Parcel']) assert.ok(!parcel.says(unseen), unseen);
  const again = /records/gi;
  assert.ok(parcel.says(again) && parcel.says(again), 'a pattern keeps no place between calls');
});

test('has returns whether there is a match', () => {
  assert.ok(PARCEL.has('#owner'));
  assert.ok(PARCEL.has('#empty'));
  assert.ok(!PARCEL.has('#none'));
});

const LIST = page(`
  <div id="l"><p class="row"><b>1</b> <a href="/1">one</a></p><p class="row"><b>x</b></p></div>
  <p class="row" id="out"><b>3</b></p>`);

test('a part reads only what is inside of it', () => {
  const part = LIST.within('#l');
  assert.deepEqual(
    part.all('.row', (row) => row.text('b')),
    ['1', 'x'],
  );
  assert.ok(!part.has('#out'));
  assert.ok(!part.says('3'));
  assert.equal(part.text(), '1 one x');
  assert.equal(part.within('.row').within('a').link(), 'https://county.example/1');
  assert.equal(part.attribute(':scope', 'id'), 'l');
  assert.equal(part.url, URL_OF_PAGE);
});

test('a failure inside of a part says how to get there', () => {
  const readSecond = (read: (row: Reader) => unknown) => () =>
    LIST.within('#l').all('.row', (row, index) => index === 1 && read(row));
  assert.throws(
    readSecond((row) => row.text('a')),
    absent('a in .row (2) in #l'),
  );
  assert.throws(
    readSecond((row) => row.link()),
    absent('the attribute href in .row (2) in #l'),
  );
  assert.throws(
    readSecond((row) => row.number('b')),
    changed('b in .row (2) in #l: "x" is not a number'),
  );
  assert.throws(
    readSecond((row) => row.number()),
    changed('.row (2) in #l: "x" is not a number'),
  );
});

test('no match at all is an empty list', () => {
  assert.deepEqual(
    LIST.all('.none', (row) => row.text()),
    [],
  );
});

test('without a selector a page reads itself', () => {
  assert.equal(page('<p>all</p> of it').text(), 'all of it');
  assert.equal(new StoredPage('just text', URL_OF_PAGE).text(), 'just text');
  assert.equal(new StoredPage('', URL_OF_PAGE).optional.text(), null);
  assert.throws(
    () => new StoredPage('', URL_OF_PAGE).text(),
    changed(`the text is not on the page (title "", ${URL_OF_PAGE})`),
  );
});

test('missing things are reported in the same words by every method', () => {
  assert.ok(absent('the owner panel')(PARCEL.missing('the owner panel')));
});

test('a page is parsed once, and not before it is read', () => {
  const parcel = new StoredPage('<p>x</p>'.repeat(300_000), URL_OF_PAGE);
  assert.equal(parcel.body.length, 2_400_000);
  assert.throws(() => parcel.$, { name: 'ScrapeFailure', message: /more than/ });
  assert.equal(PARCEL.$, PARCEL.$);
});

test('a page that was released is parsed again when it is read, and its parts continue to read what they had', () => {
  const parcel = page('<div id=a><p id=owner>SMITH</p></div>');
  const part = parcel.within('#a');
  const { document, $ } = parcel;
  parcel.letGo();
  assert.equal(part.text('#owner'), 'SMITH');
  assert.equal(parcel.text('#owner'), 'SMITH');
  assert.notEqual(parcel.document, document);
  assert.notEqual(parcel.$, $);
});
