import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoredPage } from '../../src/scraping/extract/stored-page.ts';
import { sized } from '../support/sized.ts';

const page = (html: string) => new StoredPage(`<div id="x">${html}</div>`, 'https://county.example/');
const read = (html: string) => page(html).keyValues('#x');
const OWNER_AND_YEAR = { Owner: 'A. Smith', 'Tax year': '2025' };

test('labels and values are found however pages set them side by side', () => {
  const ways = [
    '<dl><dt>Owner:</dt><dd>A. Smith</dd><dt>Tax year</dt><dd>2025</dd></dl>',
    '<dl><div><dt>Owner<dd>A. Smith</div><div><dt>Tax year<dd>2025</div></dl>',
    '<table><tr><td>Owner:</td><td>A. Smith</td></tr><tr><td>Tax year :</td><td>2025</td></tr></table>',
    '<table><tr><th>Owner<td>A. Smith<tr><th>Tax year<td>2025</table>',
    '<table><tr><td>Owner<td>A. Smith<td>Tax year<td>2025</table>',
    '<table><tr><td><b>Owner:</b> A. Smith<td><b>Tax year:</b> 2025</table>',
    '<table><tr><td><b>Owner:</b> A. Smith<tr><td><b>Tax year:</b> 2025</table>',
    '<table><tr><td><dl><dt>Owner<dd>A. Smith</dl><td><dl><dt>Tax year<dd>2025</dl></table>',
    '<table><tr><th>Field<th>Value<tr><td>Owner<td>A. Smith<tr><td>Tax year<td>2025</table>',
    '<ul><li><b>Owner:</b> A. Smith</li><li><strong>Tax year:</strong> 2025</li></ul>',
    '<ul><li>Owner: A. Smith<li>Tax year: 2025</ul>',
    '<ul><li><span>Owner:</span> A. Smith<li><span>Tax year:</span> 2025</ul>',
    '<ul><li>Owner: <b>A. Smith</b><li>Tax year: <b>2025</b></ul>',
    '<b>Owner:</b> A. Smith<br><b>Tax year:</b> <i>2025</i>',
    'Owner: <b>A. Smith</b><br>Tax year: <b>2025</b>',
    '<p><label>Owner</label> A. Smith</p><p><label>Tax year</label> 2025</p>',
    '<div><span>Owner</span> <span>A. Smith</span></div><div><span>Tax year</span> <span>2025</span></div>',
    '<div class="row"><div>Owner</div><div>A. Smith</div></div><div class="row"><div>Tax year</div><div>2025</div></div>',
    '<p>Owner: A. Smith</p><p>Tax year: 2025</p>',
    '<div><span>Owner: A. Smith</span><span>Tax year: 2025</span></div>',
  ];
  for (const html of ways) assert.deepEqual(read(html), OWNER_AND_YEAR, html);
});

test('values keep their lines together, and a label may have none', () => {
  assert.deepEqual(read('<b>Owner:</b> A. Smith<br>1 Main St<br><b>Mail:</b><br><b>Year:</b> 2025'), {
    Owner: 'A. Smith 1 Main St',
    Mail: '',
    Year: '2025',
  });
  assert.deepEqual(read('<dl><dt>Owner<dd>A. Smith<dd>B. Smith<dt>Mail</dl>'), {
    Owner: 'A. Smith B. Smith',
    Mail: '',
  });
});

test('a row without a label continues the one above it', () => {
  const address = { Owner: 'A. Smith', Address: '1 Main St Apt 4 Mesa AZ 85201', Year: '2025' };
  const ways = [
    '<table><tr><td>Owner<td>A. Smith<tr><td>Address:<td>1 Main St<tr><td>&nbsp;<td>Apt 4<tr><td><td>Mesa AZ 85201<tr><td>Year<td>2025</table>',
    '<table><tr><th>Owner<td>A. Smith<tr><th>Address<td>1 Main St<tr><th><td>Apt 4<tr><th>:<td>Mesa AZ 85201<tr><th>Year<td>2025</table>',
    '<table><tr><th>Owner<td>A. Smith<tr><th rowspan=3>Address<td>1 Main St<tr><td>Apt 4<tr><td>Mesa AZ 85201<tr><th>Year<td>2025</table>',
    '<table><tr><td>Owner<td>A. Smith<tr><td>Address<td>1 Main St<tr><td><span> </span><td>Apt 4<tr><td>&nbsp;<td>&nbsp;<tr><td><td>Mesa AZ 85201<tr><td>Year<td>2025</table>',
    '<dl><dt>Owner<dd>A. Smith<dt>Address<dd>1 Main St<dt>&nbsp;<dd>Apt 4<dt><dd>Mesa AZ 85201<dt>Year<dd>2025</dl>',
    ['Owner|A. Smith', 'Address|1 Main St', '|Apt 4', '|Mesa AZ 85201', 'Year|2025']
      .map((line) => `<div class=row><div class=l>${line.replace('|', '</div><div>')}</div></div>`)
      .join(''),
  ];
  for (const html of ways) assert.deepEqual(read(html), address, html);
});

test('in rows of two pairs, each column is continued separately', () => {
  const html =
    '<table><tr><td>Mail<td>1 Main St<td>Legal<td>LOT 4<tr><td><td>Mesa AZ<td><td>BLK 2<tr><td><td><td><td>TRACT C<tr><td>Year<td colspan=3>2025<tr><td><td colspan=3>(estimated)</table>';
  assert.deepEqual(read(html), { Mail: '1 Main St Mesa AZ', Legal: 'LOT 4 BLK 2 TRACT C', Year: '2025 (estimated)' });
  const spanning =
    '<table><tr><th rowspan=2>Mail<td>1 Main St</td><th>Legal<td>LOT 4<tr><td>Mesa AZ</td><th>Year<td>2025</table>';
  assert.deepEqual(read(spanning), { Mail: '1 Main St Mesa AZ', Legal: 'LOT 4', Year: '2025' });
});

test('a row that begins a table, follows a title, or has a picture for a label continues nothing', () => {
  const rows = (html: string) => `<table><tr><td>Owner<td>A. Smith</table><table>${html}</table>`;
  assert.deepEqual(read(rows('<tr><td><td>x<tr><td>Year<td>2025')), { Owner: 'A. Smith', Year: '2025' });
  assert.deepEqual(read(rows('<tr><td>Year<td>2025<tr><td colspan=2>Totals<tr><td><td>x')), {
    Owner: 'A. Smith',
    Year: '2025',
  });
  assert.deepEqual(read(rows('<tr><td>Year<td>2025<tr><td><img src=map.png><td>Map')), {
    Owner: 'A. Smith',
    Year: '2025',
  });
  const lines = '<div><span>Year</span><span>2025</span></div><div><img src=map.png><span>Map</span></div>';
  assert.deepEqual(read(lines), { Year: '2025' });
});

test('a second value of the same label does not hide the first', () => {
  assert.deepEqual(read('<table><tr><td>Tax<td>1<tr><td>Tax<td>2</table>'), { Tax: '1', 'Tax (2)': '2' });
});

test('titles, spacers and rows of other tables are not pairs', () => {
  const html =
    '<h3>Facts</h3><table><tr><td colspan="2">All about it<tr><td>&nbsp;<td>x<tr><td>Owner<td>A. Smith<tr><td>1<td>2<td>3</table>';
  assert.deepEqual(read(html), { Owner: 'A. Smith' });
});

test('a title beside a block, and words within a sentence, are not labels', () => {
  assert.deepEqual(read('<div><h3>Facts</h3><div><p>Owner: A. Smith</p></div></div>'), { Owner: 'A. Smith' });
  const rows = '<p><span>Owner</span><span>A. Smith</span></p><p><span>Tax year</span><span>2025</span></p>';
  assert.deepEqual(read(`<b>Facts</b>${rows}`), OWNER_AND_YEAR);
  assert.equal(page('<p>Open on <i>Monday</i> and <i>Tuesday</i></p>').optional.keyValues('#x'), null);
});

test('a time of day is a value, not a label', () => {
  assert.deepEqual(read('<p><span>Sold at</span><span>10:30 AM</span></p>'), { 'Sold at': '10:30 AM' });
});

test('a page without any pair counts as missing them', () => {
  assert.throws(() => read('<p>Nothing here.</p>'), /^ScrapeFailure: labels and values of #x is not on the page/);
  assert.equal(page('<p>Nothing here.</p>').optional.keyValues('#x'), null);
});

const LONG = sized({ quick: 15_000, slow: 60_000 });

test('deep and long pages are read in one pass', () => {
  const deep = `${'<b>'.repeat(400)}${'word: '.repeat(6 * LONG)}`;
  assert.equal(page(deep).optional.keyValues('#x'), null);
  const long = `<b>Owner:</b>${' x<br>'.repeat(LONG)}`;
  assert.equal(read(long)['Owner']?.length, 2 * LONG - 1);
  assert.equal(Object.keys(read(`<ul>${'<li>a: b'.repeat(LONG)}</ul>`)).length, LONG);
  assert.equal(read(`<dl><dt>a${'<dd>b'.repeat(LONG)}</dl>`)['a']?.length, 2 * LONG - 1);
});
