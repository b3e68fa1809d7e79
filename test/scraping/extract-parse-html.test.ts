import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'cheerio';
import fc from 'fast-check';
import { findAll, findFirst } from '../../src/scraping/extract/find.ts';
import type { PageLimits } from '../../src/scraping/extract/page-document.ts';
import { cheerioOf, PAGE_LIMITS, parseHtml } from '../../src/scraping/extract/parse-html.ts';
import { visibleText } from '../../src/scraping/extract/visible-text.ts';
import { ScrapeFailure } from '../../src/scraping/scrape-failure.ts';

const query = (html: string, limits?: PageLimits) => cheerioOf(parseHtml(html, limits));

/** `body` without the tags around it: what a browser would show of it in its inspector. */
const inside = (html: string) => query(html)('body').html();

const tooLarge = (about: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ScrapeFailure);
  assert.equal(error.failure.type, 'too_large');
  assert.match(error.message, about);
  return true;
};

test('pages that are well-formed except for optional tags come out as in a browser', () => {
  const pages = [
    '<!doctype html><html><head><title>T</title></head><body><p>a<p>b</body></html>',
    '<p>only a piece',
    'a text <b>and more</b>',
    '<ul><li>a<li>b<ul><li>c</ul><li>d</ul>',
    '<table><tr><td>1<td>2<tr><td>3</table>',
    '<table><thead><tr><th>h</thead><tr><td>1</td></tr><tfoot><tr><td>f</tfoot></table>',
    '<table><caption>c</caption><colgroup><col></colgroup><tr><td><table><tr><td>in</table><td>out</table>after',
    '<table><tbody><tr><td>1</td></tr></tbody><tbody><tr><td>2</td></tr></tbody></table>',
    '<dl><dt>a<dd>b<dt>c<dd>d</dl>',
    '<select><option>a<option selected>b</select>',
    '<DIV CLASS=Big ID=x>a<BR/>b<Br>c</DIV>',
    '<input disabled value=unquoted><a href="?a=1&amp;b=2">&lt;&eacute;&#8212;&nbsp;&amp;lt;</a>',
    '<script>if (a </ b) { c = "</div>" }</script><textarea><b>&amp;</textarea><p>end</p>',
    '<!-- a -- b --><p>c<!--></p>--></p>',
  ];
  for (const page of pages) {
    // Two serialisers: one writes `disabled`, the other `disabled=""`.
    assert.equal(inside(page), load(page)('body').html()?.replaceAll('=""', ''), page);
  }
});

test('rows get a tbody, so that selectors copied from a browser match', () => {
  const $ = query('<table id="t">\n<tr><td>1</td></tr>\n<tr><td>2</td></tr></table><p>x</p>');
  assert.equal($('html > body > table > tbody > tr:nth-child(2) > td').text(), '2');
  assert.equal($('#t > tbody').length, 1);
  assert.equal($('body > p').length, 1);
});

test('content after the end of the page belongs to its body', () => {
  const $ = query('<html><body><p>a</p></body></html><p>b</p>c');
  assert.equal($('html').length, 1);
  assert.equal($('body').length, 1);
  assert.equal($('body > p').length, 2);
  assert.equal($('body').text(), 'abc');
});

test('a body that is written late is the body of the page', () => {
  const $ = query('<html><p>a</p><body id="b"><p>c</p></body></html>');
  assert.equal($('html > #b > p').text(), 'c');
});

test('neighbours and parents are linked as cheerio expects', () => {
  const $ = query('<table><tr><td>a</td><!-- c --><td id="b">b</td><td>d</td></tr></table>');
  assert.equal($('#b').prev().text(), 'a');
  assert.equal($('#b').next().text(), 'd');
  assert.equal($('#b').closest('table').length, 1);
  $('#b').remove();
  assert.equal($('tr').text(), 'ad');
});

test('a page of a million nodes is refused before it is parsed, and any other at the first node over the limit', () => {
  assert.throws(() => parseHtml('<br>'.repeat(1_000_000)), tooLarge(/more than 125000 elements and texts/));
  assert.throws(() => parseHtml('<br>'.repeat(130_000)), tooLarge(/more than 125000 elements and texts/));
  const limits = { ...PAGE_LIMITS, maxNodes: 5 };
  // html, body, p, text, br
  assert.equal(query('<p>a<br>', limits)('*').length, 4);
  assert.throws(() => parseHtml('<p>a<br><br>', limits), tooLarge(/more than 5/));
});

test('attributes and pieces of text are counted too, since each takes memory', () => {
  const many = PAGE_LIMITS.maxDetails + 1;
  const attributes = Array.from({ length: many }, (_, index) => `a${index}`).join(' ');
  assert.throws(() => parseHtml(`<p ${attributes}>`), tooLarge(/attributes and pieces of text/));
  assert.throws(() => parseHtml('a</i>'.repeat(many + 1)), tooLarge(/attributes and pieces of text/));
  assert.throws(() => parseHtml(`<p title="${'&lt;'.repeat(many)}">`), tooLarge(/character references/));
  assert.equal(query('a&amp;b &lt; c')('body').text(), 'a&b < c');
});

test('the deepest page allowed overflows no stack, and one level more is refused', () => {
  const deep = (levels: number) => `${'<div>'.repeat(levels)}x`;
  const $ = query(deep(PAGE_LIMITS.maxDepth - 2));
  assert.equal($('div div div:last-child').last().text(), 'x');
  assert.equal($('body').text(), 'x');
  assert.equal($.html().length, $('div').length * '<div></div>'.length + 'x<html><body></body></html>'.length);
  assert.equal(visibleText($.root()[0] ?? assert.fail()), 'x');
  assert.throws(() => parseHtml(deep(PAGE_LIMITS.maxDepth - 1)), tooLarge(/deeper than 512 levels/));
});

test('drawings that are never closed do not make parsing slow', () => {
  assert.throws(() => parseHtml('<div><svg></div>'.repeat(60_000)), tooLarge(/drawings or formulas/));
  assert.equal(query('<div><svg><path/></svg></div>'.repeat(5000))('svg').length, 5000);
});

test('a search among a hundred thousand neighbours takes one pass, not one for each', () => {
  const page = parseHtml('<p></p>'.repeat(100_000));
  assert.equal(findFirst(page, null, 'b'), null);
  assert.equal(findAll(page, null, 'p').length, 100_000);
});

test('an id is found wherever it is, the first of several first, and inside the root only', () => {
  const page = parseHtml('<p id="a">1</p><div><p id="a">2</p><p id="b.c">3</p></div><p id="constructor">4</p>');
  const div = findFirst(page, null, 'div');
  const textOf = (element: ReturnType<typeof findFirst>) => element && visibleText(element);
  assert.equal(textOf(findFirst(page, null, '#a')), '1');
  assert.equal(textOf(findFirst(page, div, '#a')), '2');
  assert.equal(textOf(findFirst(page, null, '#b\\.c')), '3');
  assert.equal(textOf(findFirst(page, null, '#constructor')), '4');
  assert.equal(findFirst(page, null, '#none'), null);
  assert.equal(findFirst(page, div, '#constructor'), null);
  cheerioOf(page)('p').first().remove();
  assert.equal(textOf(findFirst(page, null, '#a')), '2', 'what was removed is not found any more');
});

test('selectors find what cheerio finds', () => {
  const page = parseHtml('<ul id="l"><li class="x">1<b>2</b><li class="x y">3<li>4</ul><p>5</p>');
  const list = findFirst(page, null, '#l');
  assert.ok(list);
  for (const selector of [
    '.x',
    'li',
    'li.y',
    '> li',
    ':scope > li',
    'li > b',
    'li:eq(1)',
    'li:nth-child(3)',
    '+ p',
    'b, .y',
  ]) {
    const expected: unknown[] = cheerioOf(page)(list).find(selector).toArray();
    assert.ok(expected.length > 0, selector);
    assert.deepEqual(findAll(page, list, selector), expected, selector);
    assert.equal(findFirst(page, list, selector), expected[0], selector);
  }
});

test('what is not a selector is a bug of the scraper, and is named', () => {
  const page = parseHtml('<p>a</p>');
  for (const selector of ['p[', '##', '', ':nonsense']) {
    assert.throws(() => findFirst(page, null, selector), {
      name: 'Error',
      message: `${JSON.stringify(selector)} is not a selector`,
    });
  }
});

test('any text can be parsed', () => {
  const piece = fc.constantFrom(
    ...['<', '>', '</', '<table>', '<tr>', '<td>', '</table>', '</tr>', '<tbody>', '</tbody>', '<p>', '</p>', '<br/>'],
    ...['<html>', '</html>', '<body>', '</body>', '<head>', '<svg>', '<!--', '-->', '&', '"', '<a b=', ' id=x', 'text'],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const page = parseHtml(pieces.join(''));
      for (const row of findAll(page, null, 'table > tr'))
        assert.fail(`a row outside of a body: ${pieces} ${row.name}`);
      for (const element of findAll(page, null, '*')) {
        assert.ok(element.parent?.children.includes(element));
        assert.equal(element.next?.prev ?? element, element);
      }
    }),
    { numRuns: 500 },
  );
});
