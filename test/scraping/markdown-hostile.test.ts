import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_MARKDOWN } from '../../src/scraping/markdown/block-writer.ts';
import { DOCUMENT_LIMITS, toMarkdown } from '../../src/scraping/markdown/to-markdown.ts';
import { ScrapeFailure } from '../../src/scraping/scrape-failure.ts';

const url = 'https://docs.example/';
const convert = (html: string): string => toMarkdown(html, { url }).markdown;

const isTooLarge = (error: unknown): boolean => error instanceof ScrapeFailure && error.type === 'too_large';

test('a page that nests too deeply is too large, at once', () => {
  for (const tag of ['div', 'ul><li', 'blockquote', 'b', 'table><tr><td', 'a href=x', 'pre', 'dl><dd']) {
    assert.throws(() => convert(`<${tag}>`.repeat(100_000)), isTooLarge, tag);
  }
});

test('as deep as pages may nest, every element is written without blowing up', () => {
  const depth = DOCUMENT_LIMITS.maxDepth - 10;
  for (const tag of ['div', 'blockquote', 'b', 'a href=x', 'pre', 'span', 'code', 'sup', 'h1']) {
    const markdown = convert(`<p>word ${`<${tag}>`.repeat(depth)}end`);
    assert.match(markdown, /word/, tag);
    assert.match(markdown, /end/, tag);
    assert.ok(markdown.length < 20_000, tag);
  }
  for (const [open, levels] of [
    ['<ul><li>', 2],
    ['<dl><dd>', 2],
    ['<table><tr><td>', 4],
  ] as const) {
    const markdown = convert(`<p>word ${`${open}x`.repeat(Math.floor(depth / levels))}end`);
    assert.match(markdown, /end/, open);
    assert.ok(markdown.length < 50_000, open);
  }
});

test('a small page that would become a large text is too large', () => {
  const nested = '<blockquote>'.repeat(100);
  assert.ok(convert(`${nested}${'<p>x'.repeat(20_000)}`).length < 3_000_000);
  const base = `<base href="https://docs.example/${'x'.repeat(8000)}/">`;
  assert.throws(() => convert(`${base}${'<a href=y>z</a> '.repeat(10_000)}`), isTooLarge);
  assert.ok(MAX_MARKDOWN < 100_000_000);
  const spans = `<table><tr>${'<td colspan=1000 rowspan=65534>x'.repeat(100)}${'<tr><td>y'.repeat(500)}</table>`;
  assert.ok(convert(spans).length < 10_000_000);
});

test('a base that is endless, relative or not an address does no harm', () => {
  assert.equal(convert(`<base href="${'y/'.repeat(10_000)}"><a href="a">a</a>`), '[a](https://docs.example/a)\n');
  assert.equal(convert('<base href="javascript:x"><a href="/a">a</a>'), 'a\n');
  assert.equal(convert('<base href="../.."><base href="b/"><a href="a">a</a>'), '[a](https://docs.example/a)\n');
});

test('broken markup and characters that do not belong there are only text', () => {
  assert.equal(convert('a\0b <b>c <i>d</b> e</i> </p></div></table> <p f'), 'ab **c _d_** e\n');
  assert.equal(convert('\0'), '');
  assert.equal(convert(''), '');
  assert.equal(convert('<!-- <p>x'), '');
  assert.equal(convert('&#0; &#xD800; &#x110000; &bogus; &amp'), '� � � \\&bogus; \\&\n');
  assert.equal(convert('<table><td>a<table><td>b</table>c<li>d'), 'a\n\nb\n\nc\n\n- d\n');
});

/** CPU time, and a factor beyond chance: quadratic work takes sixteen times as long for four times as much. */
test('time grows with the page and not faster', () => {
  const cases: readonly ((count: number) => string)[] = [
    (count) => '<b>"a"</b>b'.repeat(count),
    (count) => '<p>*_[`<&~ '.repeat(count),
    (count) => `<table>${'<tr><td>a<td>b'.repeat(count)}</table>`,
    (count) => `<ul>${'<li>a<ul><li>b</ul>'.repeat(count)}</ul>`,
    (count) => `<pre>${'<span>`a</span>\n'.repeat(count)}</pre>`,
    (count) => '<a href=#x class=footnote-ref>1</a><p id=x>'.repeat(count),
    (count) => `${'<div class=note>'.repeat(50)}${'<p>x</p>'.repeat(count)}`,
  ];
  for (const make of cases) {
    const small = leastCpuOf(make(1500));
    const large = leastCpuOf(make(6000));
    assert.ok(large < 12 * Math.max(small, 5_000), `${make(1)}: ${small} and ${large} µs`);
  }
});

/** The minimum of a few runs, on this thread alone: a busy machine, the collector and the compiler only add to it. */
function leastCpuOf(html: string): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    const before = process.threadCpuUsage();
    convert(html);
    const { user, system } = process.threadCpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least;
}
