import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoredPage } from '../../src/scraping/extract/stored-page.ts';
import { ScrapeFailure } from '../../src/scraping/scrape-failure.ts';

const page = (html: string) => new StoredPage(html, 'https://county.example/parcel');
const table = (html: string) => page(html).table('table');

const failsAs = (type: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ScrapeFailure, String(error));
  assert.equal(error.failure.type, type);
  assert.match(error.message, message);
  return true;
};

test('a table is read by the names over its columns', () => {
  const { headers, rows, cells, footer, column } = table(`
    <table><thead><tr><th>Tax <br>District</th><th>Rate/100</th></tr></thead>
    <tbody><tr><td>School</td><td>1.25</td></tr><tr><td> City&nbsp;Hall </td><td>0.50</td></tr></tbody></table>`);
  assert.deepEqual(headers, ['Tax District', 'Rate/100']);
  assert.deepEqual(rows, [
    { 'Tax District': 'School', 'Rate/100': '1.25' },
    { 'Tax District': 'City Hall', 'Rate/100': '0.50' },
  ]);
  assert.deepEqual(cells[1], ['City Hall', '0.50']);
  assert.deepEqual(footer, []);
  assert.deepEqual(column('Rate/100'), ['1.25', '0.50']);
  assert.deepEqual(column(' Tax  District '), ['School', 'City Hall']);
});

test('a column that is not there is a change of structure that names table and column', () => {
  const { column } = page('<title>Taxes</title><table id="t"><tr><th>A</th></tr><tr><td>1</td></tr></table>').table(
    '#t',
  );
  const message = 'table #t: column "Rate/100" is not on the page (title "Taxes", https://county.example/parcel)';
  assert.throws(() => column('Rate/100'), {
    message,
    failure: { type: 'structure_changed', message, cause: null, retryAfterMs: null },
  });
});

test('without a thead the names are the rows of th at the top, and without those the first row', () => {
  assert.deepEqual(table('<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>').rows, [
    { A: '1', B: '2' },
  ]);
  assert.deepEqual(table('<table><tr><td>A</td><td>B</td></tr><tr><td>1</td><td>2</td></tr></table>').rows, [
    { A: '1', B: '2' },
  ]);
  assert.deepEqual(table('<table><tr><th>A<th>B<tr><th>1<td>2</table>').rows, [{ A: '1', B: '2' }]);
});

test('a title across the whole width names no column, however wide it claims to be', () => {
  const html =
    '<table><tr><td colspan="99">Taxes</td></tr><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>';
  assert.deepEqual(table(html).headers, ['A', 'B']);
  assert.deepEqual(table(html).rows, [{ A: '1', B: '2' }]);
});

test('a title in the thead, or between rows, is not a name either', () => {
  const head = '<thead><tr><th colspan="2">Taxes</th></tr><tr><th>A</th><th>B</th></tr></thead>';
  assert.deepEqual(table(`<table>${head}<tr><td>1</td><td>2</td></tr></table>`).rows, [{ A: '1', B: '2' }]);
  const { headers, cells } = table('<table><tr><th>A<th>B<tr><th colspan="2">Schools<tr><td>1<td>2</table>');
  assert.deepEqual(headers, ['A', 'B']);
  assert.deepEqual(cells, [
    ['Schools', 'Schools'],
    ['1', '2'],
  ]);
  assert.deepEqual(table('<table><thead><tr><th>A</thead><tr><td>1<tr><td>2</table>').rows, [{ A: '1' }, { A: '2' }]);
});

test('a part of a table is read like a table', () => {
  const html = '<table><tr><th>A<tr><td>1</table>';
  assert.deepEqual(page(html).table('tbody').cells, [['1']]);
});

test('spans that make no sense are read as a browser reads them', () => {
  assert.deepEqual(
    table('<table><tr><th>A<th>B<tr><td colspan="-3">1<td>2<tr><td>3<td colspan="999999999999">4</table>').cells,
    [
      ['1', '2'],
      ['3', '4'],
    ],
  );
});

test('a heading over several columns becomes part of their names', () => {
  const { headers, rows } = table(`<table><thead>
    <tr><th rowspan="2">District</th><th colspan="2">2024</th><th colspan="2">2025</th></tr>
    <tr><th>Rate</th><th>Tax</th><th>Rate</th><th>Tax</th></tr></thead>
    <tr><td>School</td><td>1</td><td>2</td><td>3</td><td>4</td></tr></table>`);
  assert.deepEqual(headers, ['District', '2024 Rate', '2024 Tax', '2025 Rate', '2025 Tax']);
  assert.equal(rows[0]?.['2025 Tax'], '4');
});

test('names are unique, and columns without one are numbered', () => {
  assert.deepEqual(table('<table><tr><th>Tax<th>Tax<th>Tax (2)<th>Tax<th></table>').headers, [
    ...['Tax', 'Tax (3)', 'Tax (2)', 'Tax (4)', 'column 5'],
  ]);
});

test('a cell that spans rows or columns is in each of them', () => {
  const { cells } = table(`<table><tr><th>A<th>B<th>C
    <tr><td rowspan="2">1<td colspan="2">2
    <tr><td>3<td rowspan="0">4
    <tr><td>5<td>6
    <tr><td colspan="nonsense">7</table>`);
  assert.deepEqual(cells, [
    ['1', '2', '2'],
    ['1', '3', '4'],
    ['5', '6', '4'],
    ['7', '', '4'],
  ]);
});

test('a span ends with its section', () => {
  const html =
    '<table><thead><tr><th rowspan="9">A</th><th>B</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>';
  assert.deepEqual(table(html).cells, [['1', '2']]);
});

test('short rows are filled up, and long ones make columns rather than lose cells', () => {
  const { headers, rows } = table('<table><tr><th>A<th>B<tr><td>1<tr><td>2<td>3<td>4</table>');
  assert.deepEqual(headers, ['A', 'B', 'column 3']);
  assert.deepEqual(rows, [
    { A: '1', B: '', 'column 3': '' },
    { A: '2', B: '3', 'column 3': '4' },
  ]);
});

test('rows of a table inside a cell are not rows of this one', () => {
  const html =
    '<table id="o"><tr><th>A<th>B<tr><td>1<td><table><tr><td>in</td><td>side</td></tr></table></td></tr><tr><td>2<td>3</table>';
  assert.deepEqual(page(html).table('#o').cells, [
    ['1', 'in side'],
    ['2', '3'],
  ]);
});

test('rows of a table between two rows are not rows of this one either', () => {
  const html = '<table id="o"><tr><th>A</th></tr><table><tr><td>in</td></tr></table></table>';
  assert.deepEqual(page(html).table('#o').cells, []);
});

test('rows of the foot are kept separate, wherever it is written', () => {
  const { rows, footer, column } = table(
    '<table><thead><tr><th>A<th>Tax</thead><tfoot><tr><td>Total<td>3</tfoot><tbody><tr><td>x<td>1<tr><td>y<td>2</tbody></table>',
  );
  assert.equal(rows.length, 2);
  assert.deepEqual(footer, [{ A: 'Total', Tax: '3' }]);
  assert.deepEqual(column('Tax'), ['1', '2']);
});

test('forms between a table and its rows do no harm', () => {
  assert.deepEqual(table('<table><form><tr><th>A</th></tr><tr><td>1</td></tr></form></table>').cells, [['1']]);
  assert.deepEqual(table('<table><tr><th>A</th></tr><tr><form><td>1</td></form></tr></table>').cells, [['1']]);
});

test('a header named like a property of every object is a header', () => {
  const { rows } = table('<table><tr><th>__proto__<th>constructor<tr><td>1<td>2</table>');
  assert.deepEqual(Object.entries(rows[0] ?? {}), [
    ['__proto__', '1'],
    ['constructor', '2'],
  ]);
});

test('an element around one table is read as that table; around several it is ambiguous', () => {
  const one = '<div id="d"><p><table><tr><th>A<tr><td>1</table></div>';
  assert.deepEqual(page(one).table('#d').cells, [['1']]);
  assert.throws(
    () => page(one.repeat(2).replace('</div><div id="d">', '')).table('#d'),
    failsAs('structure_changed', /#d holds 2 tables/),
  );
});

test('a table without a row is missing', () => {
  assert.throws(() => table('<table></table>'), failsAs('structure_changed', /^a table of table is not on the page/));
  assert.equal(page('<table></table>').optional.table('table'), null);
  assert.deepEqual(table('<table><tr><th>A</table>').rows, []);
});

test('a table cannot be blown up by its spans', () => {
  const wide = `<table><tr>${'<td>x'.repeat(101)}</table>`;
  assert.throws(() => table(wide), failsAs('too_large', /more than 100 columns/));
  assert.throws(
    () => table('<table><tr><td colspan="1000">a<td>b</table>'),
    failsAs('too_large', /more than 100 columns/),
  );
  assert.throws(() => table(`<table>${'<tr>'.repeat(10_001)}</table>`), failsAs('too_large', /more than 10000 rows/));
  const cell = `<td rowspan="10000" colspan="50">${'x'.repeat(10_000)}`;
  assert.throws(
    () => table(`<table><tr>${cell}<td>y${'<tr><td>z'.repeat(5000)}</table>`),
    failsAs('too_large', /characters/),
  );
});
