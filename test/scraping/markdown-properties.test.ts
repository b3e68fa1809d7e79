import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { toMarkdown } from '../../src/scraping/markdown/to-markdown.ts';
import { countFound, readHtml, readMarkdown, renderMarkdown } from '../support/page-words.ts';
import { sized } from '../support/sized.ts';

const url = 'https://docs.example/guide/start.html';
const convert = (html: string): string => toMarkdown(html, { url, selector: 'body' }).markdown;
const nothing = () => false;
const isBody = ({ tagName }: { tagName: string }) => tagName === 'body';
const wordsOf = (html: string) => readHtml(html, isBody, nothing).words;

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Words, and everything that means something to Markdown or to HTML. */
const PIECES = [
  ...[
    'alpha',
    'beta_gamma',
    '__init__',
    'x',
    '日本',
    'العربية',
    'é',
    '1.',
    '2)',
    '#',
    '##',
    '-',
    '+',
    '*',
    '**',
    '_',
    '`',
    '``',
  ],
  ...[
    '[',
    ']',
    '(u)',
    '[a](b)',
    '![',
    '<',
    '<div>',
    '&',
    '&amp;',
    '&lt',
    '~',
    '~~',
    '|',
    '\\',
    '\\*',
    '>',
    '=',
    '===',
    '---',
    ':',
    '!',
  ],
  ...['http://a.b/c_d_e', '.', ',', '"', '“q”', '😀', '$', '{x}', '^', '[^1]', 'a:', '<!--', '\u00a0', '\n'],
];
const text = fc
  .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 6 })
  .chain((pieces) => fc.constantFrom(' ', '').map((glue) => escapeHtml(pieces.join(glue))));

const INLINE = ['b', 'i', 'code', 'a href="/x"', 'span', 'sub', 'del', 'strong', 'em', 'kbd'];
const BLOCKS = [
  'p',
  'div',
  'blockquote',
  'h2',
  'ul><li',
  'ol start="7"><li',
  'dl><dt',
  'dl><dd',
  'section',
  'table><tr><td',
];

const { html } = fc.letrec<{ html: string; inline: string; block: string }>((tie) => ({
  inline: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    fc.tuple(fc.constantFrom(...INLINE), fc.array(tie('inline'), { maxLength: 3 })).map(wrap),
  ),
  block: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.array(tie('inline'), { minLength: 1, maxLength: 3 }).map((parts) => `<p>${parts.join('')}</p>`),
    fc.tuple(fc.constantFrom(...BLOCKS), fc.array(tie('block'), { maxLength: 3 })).map(wrap),
    fc.tuple(fc.constantFrom('p', 'li', 'h3'), fc.array(tie('inline'), { maxLength: 3 })).map(wrap),
  ),
  html: fc.array(tie('block'), { minLength: 1, maxLength: 4 }).map((blocks) => `<body>${blocks.join('')}</body>`),
}));

function wrap([tag, parts]: [string, string[]]): string {
  const names = tag.split('><').map((part) => part.split(' ', 1)[0] ?? '');
  return `<${tag}>${parts.join('')}${names
    .reverse()
    .map((name) => `</${name}>`)
    .join('')}`;
}

test('whatever the markup, something is written and nothing thrown', () => {
  const soup = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          ...[...INLINE, ...BLOCKS, 'pre', 'tr', 'td', 'th'].flatMap((tag) => [
            `<${tag}>`,
            `</${tag.split(/[ >]/, 1)[0]}>`,
          ]),
        ),
        text,
      ),
      { maxLength: 60 },
    )
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.oneof(soup, fc.string()), (page) => {
      assert.equal(typeof convert(page), 'string');
      assert.equal(typeof toMarkdown(page, { url, frontMatter: true, headingIds: true }).title, 'string');
    }),
    { numRuns: sized({ quick: 150, slow: 20_000 }) },
  );
});

test('every word that a browser shows is in the rendered Markdown', () => {
  fc.assert(
    fc.property(html, (page) => {
      const wanted = wordsOf(page);
      const given = readMarkdown(convert(page)).words;
      const missing = wanted.length - countFound(wanted, given);
      assert.equal(missing, 0, `${page}\n${convert(page)}\n${wanted.join(' ')}\n${given.join(' ')}`);
    }),
    { numRuns: sized({ quick: 200, slow: 20_000 }) },
  );
});

test('Markdown that is rendered and converted again has the same text', () => {
  fc.assert(
    fc.property(html, (page) => {
      const once = convert(page);
      const again = convert(`<body>${renderMarkdown(once)}</body>`);
      assert.deepEqual(readMarkdown(again).words, readMarkdown(once).words, `${page}\n${once}\n${again}`);
    }),
    { numRuns: sized({ quick: 150, slow: 10_000 }) },
  );
});

test('code is the same to the byte, whatever surrounds it and whatever it contains', () => {
  // Markdown inside of a list never keeps a line of spaces alone, whichever program writes it.
  const line = fc
    .array(fc.constantFrom(...PIECES.filter((piece) => piece !== '\n'), '  ', '\t', '```', '~~~', '    '), {
      maxLength: 5,
    })
    .map((pieces) => pieces.join(''))
    .map((one) => (one.trim() === '' ? '' : one));
  const code = fc.array(line, { minLength: 1, maxLength: 6 }).map((lines) => `x${lines.join('\n')}`);
  const around = fc.array(
    fc.constantFrom(
      'ul><li',
      'ol start="99"><li',
      'blockquote',
      'div class="admonition note"',
      'dl><dd',
      'table><tr><td',
    ),
    { maxLength: 3 },
  );
  fc.assert(
    fc.property(code, around, fc.boolean(), (written, tags, isColoured) => {
      const inner = isColoured
        ? [...written].map((c) => `<span class="k">${escapeHtml(c)}</span>`).join('')
        : escapeHtml(written);
      const pre = `<p>before</p><pre><code class="language-js">${inner}</code></pre><p>after</p>`;
      const page = `<body>${tags.reduce((content, tag) => wrap([tag, [content]]), pre)}</body>`;
      const { codes } = readMarkdown(convert(page));
      assert.deepEqual(codes, [written.replace(/\n$/, '')], `${page}\n${convert(page)}`);
    }),
    { numRuns: sized({ quick: 150, slow: 20_000 }) },
  );
});
