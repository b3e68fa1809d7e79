import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFirst } from '../../src/scraping/extract/find.ts';
import { parseHtml } from '../../src/scraping/extract/parse-html.ts';
import { visibleLines, visibleText } from '../../src/scraping/extract/visible-text.ts';

const text = (html: string) => visibleText(parseHtml(html));
const lines = (html: string) => visibleLines(parseHtml(html));

test('white space of any kind is one space, and none at the ends', () => {
  assert.equal(text('<p>  a\n\t b&nbsp;&nbsp;c\u2003d </p>'), 'a b c d');
  assert.equal(text('<b> a </b>'), 'a');
  assert.equal(text('<p>so\u00adft zero\u200bwidth</p>'), 'soft zerowidth');
});

test('line breaks, blocks and cells are apart; inline elements are not', () => {
  assert.equal(text('a<br>b<div>c</div>d<p>e</p>f'), 'a b c d e f');
  assert.equal(text('<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>'), '1 2 3');
  assert.equal(text('20<b>25</b><wbr>0<span>1</span>'), '202501');
});

test('lines end at breaks, around blocks and after rows, and are never empty', () => {
  assert.deepEqual(lines('<div>A. Smith<br>1 Main\n St<br><br/> <p>Phoenix <b>AZ</b></p>85003</div>'), [
    ...['A. Smith', '1 Main St', 'Phoenix AZ', '85003'],
  ]);
  assert.deepEqual(lines('<table><tr><td>1<td>2<tr><td>3</table>'), ['1 2', '3']);
  assert.deepEqual(lines('<pre>a\nb</pre>'), ['a', 'b']);
  assert.deepEqual(visibleLines(findFirst(parseHtml('<pre>a\nb</pre>'), null, 'pre') ?? assert.fail()), ['a', 'b']);
  assert.deepEqual(lines('<div> <br> </div>'), []);
});

test('text that a person does not see is left out', () => {
  const hidden = [
    ...['<script>no</script>', '<style>no</style>', '<noscript>no</noscript>', '<template>no</template>'],
    ...['<input type="hidden" value="no">', '<p hidden>no</p>', '<p style="color: red; DISPLAY : none">no</p>'],
    ...['<!-- no -->', '<title>no</title>', '<iframe>no</iframe>'],
    ...['<p style="visibility:hidden">no</p>', '<datalist><option>no</option></datalist>'],
  ];
  assert.equal(text(`<p>yes</p>${hidden.join('')}<textarea>too</textarea>`), 'yes too');
});

test('the requested element is read even if it is hidden', () => {
  const page = parseHtml('<div id="x" style="display:none">here <i hidden>not</i></div>');
  const element = findFirst(page, null, '#x');
  assert.ok(element);
  assert.equal(visibleText(element), 'here');
});
