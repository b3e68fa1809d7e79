import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoredPage } from '../../src/scraping/extract/stored-page.ts';

const page = (html: string) => new StoredPage(`<div id="x">${html}</div>`, 'https://county.example/');
const read = (html: string) => page(html).keyValues('#x');
const OWNER_AND_YEAR = { Owner: 'A. Smith', 'Tax year': '2025' };

test('labels and values are found in whatever way pages set them side by side', () => {
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

test('the second of a label does not hide the first', () => {
  assert.deepEqual(read('<table><tr><td>Tax<td>1<tr><td>Tax<td>2</table>'), { Tax: '1', 'Tax (2)': '2' });
});

test('titles, spacers and rows of other tables are no pairs', () => {
  const html =
    '<h3>Facts</h3><table><tr><td colspan="2">All about it<tr><td>&nbsp;<td>x<tr><td>Owner<td>A. Smith<tr><td>1<td>2<td>3</table>';
  assert.deepEqual(read(html), { Owner: 'A. Smith' });
});

test('a title beside a block, and words within a sentence, are no labels', () => {
  assert.deepEqual(read('<div><h3>Facts</h3><div><p>Owner: A. Smith</p></div></div>'), { Owner: 'A. Smith' });
  const rows = '<p><span>Owner</span><span>A. Smith</span></p><p><span>Tax year</span><span>2025</span></p>';
  assert.deepEqual(read(`<b>Facts</b>${rows}`), OWNER_AND_YEAR);
  assert.equal(page('<p>Open on <i>Monday</i> and <i>Tuesday</i></p>').optional.keyValues('#x'), null);
});

test('a time of day is a value, not a label', () => {
  assert.deepEqual(read('<p><span>Sold at</span><span>10:30 AM</span></p>'), { 'Sold at': '10:30 AM' });
});

test('no pair at all is missing', () => {
  assert.throws(() => read('<p>Nothing here.</p>'), /^ScrapeFailure: labels and values of #x is not on the page/);
  assert.equal(page('<p>Nothing here.</p>').optional.keyValues('#x'), null);
});

test('deep and long pages are read in one pass', () => {
  const deep = `${'<b>'.repeat(400)}${'word: '.repeat(400_000)}`;
  assert.equal(page(deep).optional.keyValues('#x'), null);
  const long = `<b>Owner:</b>${' x<br>'.repeat(60_000)}`;
  assert.equal(read(long)['Owner']?.length, 119_999);
  assert.equal(Object.keys(read(`<ul>${'<li>a: b'.repeat(60_000)}</ul>`)).length, 60_000);
  assert.equal(read(`<dl><dt>a${'<dd>b'.repeat(60_000)}</dl>`)['a']?.length, 119_999);
});
