import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toMarkdown } from '../../src/scraping/markdown/to-markdown.ts';

const url = 'https://docs.example/guide/start.html';

function isWritten(html: string, markdown: string): void {
  assert.equal(toMarkdown(html, { url, selector: 'body' }).markdown.trimEnd(), markdown, html);
}

test('a code block keeps its text to the byte, whatever colours and numbers it', () => {
  const code = 'def f(x):\n\n\treturn  x  # "a" & <b>\n';
  const fenced = (language: string) => `\`\`\`${language}\n${code}\`\`\``;
  const pygments =
    '<span class="k">def</span> f(x):\n\n\t<span class="k">return</span>  x  <span class="c1"># "a" &amp; &lt;b&gt;</span>\n';
  isWritten(
    `<div class="highlight-python3 notranslate"><div class="highlight"><pre><span></span>${pygments}</pre></div></div>`,
    fenced('python'),
  );
  isWritten(`<pre>\n${pygments}</pre>`, fenced(''));
  isWritten(`<pre class="language-python"><code>${pygments}</code></pre>`, fenced('python'));
  isWritten(
    `<div class="language-python highlighter-rouge"><pre class="highlight"><code>${pygments}</code></pre></div>`,
    fenced('python'),
  );
  isWritten(`<pre class="shiki" data-language="python"><code>${pygments}</code></pre>`, fenced('python'));
  isWritten(
    `<div class="highlight highlight-source-python"><pre>${pygments}</pre><button>Copy</button></div>`,
    fenced('python'),
  );
  isWritten(
    `<table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre>1\n2\n3</pre></div></td><td class="code"><div class="highlight-python"><pre>${pygments}</pre></div></td></tr></table>`,
    fenced('python'),
  );
  isWritten(
    '<pre class="prism-code language-js"><code><span class="token-line"><span class="line-number">1</span>a<br></span><span class="token-line">b<br></span></code></pre>',
    '```js\na\nb\n```',
  );
  isWritten(
    '<pre class="shiki"><code><span class="line">a</span>\n<span class="line">b</span></code></pre>',
    '```\na\nb\n```',
  );
  isWritten('<pre><code><span class="line">a</span><span class="line">b</span></code></pre>', '```\na\nb\n```');
  isWritten('<pre>\n\na</pre>', '```\n\na\n```');
  isWritten('<pre><code>\na</code></pre>', '```\n\na\n```');
  isWritten('<pre lang="en-US" class="screen">$ ls</pre>', '```\n$ ls\n```');
  isWritten('<pre>a\r\nb\rc\0</pre>', '```\na\nb\nc\n```');
});

test('a fence is longer than the backticks inside', () => {
  isWritten('<pre>```js\n````\n</pre>', '`````\n```js\n````\n`````');
  isWritten('<code>a</code><kbd>b</kbd> `<code>c</code>', '`ab` \\``c`');
  isWritten('<b><code>a</code></b><b><code>b</code></b>', '**`a`<!-- -->`b`**');
  isWritten('<p><code>git add </code><em><code>file</code></em></p>', '`git add` *`file`*');
  isWritten('<p><code>a`b</code> <code>``</code> <code>x</code></p>', '``a`b`` ``` `` ``` `x`');
});

test('code in lists and quotes is indented with them', () => {
  isWritten('<ol><li>Run<pre>a\n\n  b</pre>then</li></ol>', '1. Run\n\n   ```\n   a\n\n     b\n   ```\n\n   then');
  isWritten('<blockquote><pre>a\n\nb</pre></blockquote>', '> ```\n> a\n>\n> b\n> ```');
});

test('lists are nested, start anywhere, and are loose only where they must be', () => {
  isWritten(
    '<ul><li><p>a</p><ul><li>b<ol start="9"><li>c<li>d</ol></ul><li>e</ul>',
    '- a\n  - b\n\n    9. c\n    10. d\n- e',
  );
  isWritten('<ul><li><p>a</p><p>b</p></li><li>c</li></ul>', '- a\n\n  b\n\n- c');
  isWritten('<ul><li>a</li></ul><ul><li>b</li></ul>', '- a\n\n* b');
  isWritten(
    '<ul><li><input type="checkbox" checked> done</li><li><input type="checkbox"> open</li></ul>',
    '- [x] done\n- [ ] open',
  );
  isWritten('<ul><li>a</li><ul><li>b</li></ul></ul>', '- a\n  - b');
  isWritten('<ul><li> </li><li>a</li></ul>', '- a');
});

test('tables keep their columns: heads, pipes, spans, blocks in cells', () => {
  isWritten(
    '<table><thead><tr><th>a<th align="right">b</thead><tr><td>1|2<td><code>x|y</code></table>',
    '| a | b |\n| --- | --: |\n| 1\\|2 | `x\\|y` |',
  );
  isWritten('<table><tr><td>1<td>2<tr><td>3<td>4</table>', '|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |');
  isWritten(
    '<table><tr><th colspan="2">a<th>b<tr><td rowspan="2">1<td>2<td>3<tr><td>4<td>5</table>',
    '| a |  | b |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n|  | 4 | 5 |',
  );
  isWritten(
    '<table><tr><th>a<th>b<tr><td><p>1</p><p>2</p><td><ul><li>x<li>y</ul></table>',
    '| a | b |\n| --- | --- |\n| 1<br>2 | - x<br>- y |',
  );
  isWritten(
    '<table><caption>Cap</caption><tr><th>a<th>b<tr><td>1<td>2</table>',
    'Cap\n\n| a | b |\n| --- | --- |\n| 1 | 2 |',
  );
  isWritten('<table><tr><td><p>one</p><td><pre>a\nb</pre></table>', 'one\n\n```\na\nb\n```');
});

test('admonitions of every generator become alerts', () => {
  const note = '> [!NOTE]\n> Mind it.';
  isWritten('<div class="admonition note"><p class="admonition-title">Note</p><p>Mind it.</p></div>', note);
  isWritten(
    '<div class="theme-admonition theme-admonition-note alert alert--secondary"><div class="admonitionHeading_Gvgb"><span><svg></svg></span>note</div><div class="admonitionContent_BuS1"><p>Mind it.</p></div></div>',
    note,
  );
  isWritten(
    '<div class="markdown-alert markdown-alert-note"><p class="markdown-alert-title">Note</p><p>Mind it.</p></div>',
    note,
  );
  isWritten('<div class="note"><h3 class="title">Note</h3><p>Mind it.</p></div>', note);
  isWritten(
    '<div class="admonitionblock note"><table><tr><td class="icon"><div class="title">Note</div></td><td class="content"><p>Mind it.</p></td></tr></table></div>',
    note,
  );
  isWritten('<details class="note"><summary>Note</summary><p>Mind it.</p></details>', note);
  isWritten(
    '<div class="admonition danger"><p class="admonition-title">Really</p><p>a</p><p>b</p></div>',
    '> [!CAUTION]\n> **Really**\n>\n> a\n>\n> b',
  );
  isWritten(
    '<div class="admonition seealso"><p class="admonition-title">See also</p><ul><li>a</li></ul></div>',
    '> [!NOTE]\n> **See also**\n>\n> - a',
  );
});

test('terms are items, with their definitions below', () => {
  isWritten(
    '<dl><dt>a</dt><dt>b</dt><dd><p>c</p><pre>d</pre></dd><dt><code>e</code></dt><dd>f</dd></dl>',
    '- **a**\n\n  **b**\n\n  c\n\n  ```\n  d\n  ```\n\n- `e`\n\n  f',
  );
  isWritten(
    '<dl class="py function"><dt class="sig" id="f"><span>f</span>(<em>x</em>)<a class="headerlink" href="#f">¶</a></dt><dd>g</dd></dl>',
    '- `f(x)`\n\n  g',
  );
});

test('footnotes are referred to by their number', () => {
  const noted = 'Text[^1].\n\n[^1]: Note *a*.';
  isWritten(
    '<p>Text<sup><a href="#fn1" id="r1" class="footnote-ref">1</a></sup>.</p><section class="footnotes"><ol><li id="fn1"><p>Note <i>a</i>. <a href="#r1" class="footnote-backref">↩</a></p></li></ol></section>',
    noted,
  );
  isWritten(
    '<p>Text <a class="footnote-reference brackets" href="#id2" id="id1">[1]</a>.</p><aside class="footnote" id="id2"><span class="label">[<a href="#id1">1</a>]</span><p>Note <i>a</i>.</p></aside>',
    noted,
  );
  isWritten(
    '<p>Text<a class="footnote-reference" href="#id2" id="id1">1</a>.</p><dl class="footnote"><dt class="label" id="id2"><a class="fn-backref" href="#id1">1</a></dt><dd><p>Note <i>a</i>.</p></dd></dl>',
    noted,
  );
});

test('links and images are absolute; what cannot be followed is only text', () => {
  isWritten(
    '<a href="#x">a</a> <a href="?q=1">b</a> <a href="//cdn.example/c">c</a>',
    `[a](${url}#x) [b](${url}?q=1) [c](https://cdn.example/c)`,
  );
  isWritten(
    '<base href="/v2/"><a href="d e">d</a> <a href="f_(g)">f</a> <a href="h)">h</a>',
    '[d](https://docs.example/v2/d%20e) [f](https://docs.example/v2/f_(g)) [h](<https://docs.example/v2/h)>)',
  );
  isWritten('<a href="javascript:x()">a</a> <a href="http://[">b</a> <a>c</a> <a href="d"></a>', 'a b c');
  isWritten(
    '<p><img src="a.png" alt="A [b]"> <img src="data:image/png;base64,AA" alt="dot"></p>',
    '![A \\[b\\]](https://docs.example/guide/a.png) dot',
  );
  isWritten(
    '<a href="/p"><h3>Title</h3><p>Text</p></a>',
    '### [Title](https://docs.example/p)\n\n[Text](https://docs.example/p)',
  );
  isWritten('Wow!<a href="/p">x</a>', 'Wow\\![x](https://docs.example/p)');
});

test('headings lose the anchor sign that links to them and keep their id', () => {
  const html =
    '<section id="s"><h2>C# <code>x</code> #<a class="headerlink" href="#s">¶</a></h2></section><h3 id="t"><a href="#t">Self</a></h3><h4><a id="u"></a>Old<a href="#u">#</a></h4>';
  isWritten(html, '## C# `x` \\#\n\n### Self\n\n#### Old');
  const page = toMarkdown(html, { url, selector: 'body', headingIds: true });
  assert.deepEqual(
    page.headings.map(({ id }) => id),
    ['s', 't', 'u'],
  );
  assert.equal(page.markdown, '## C# `x` \\# {#s}\n\n### Self {#t}\n\n#### Old {#u}\n');
});

test('emphasis is written so that it is understood', () => {
  isWritten('a<b> b </b>c<i></i>', 'a **b** c');
  isWritten('<b>a</b><b>b</b> <strong><b>c</b></strong>', '**ab** **c**');
  isWritten('x<b>"y"</b>z', 'x<strong>"y"</strong>z');
  isWritten('<b>「重要」</b>です', '<strong>「重要」</strong>です');
  isWritten('<b><i>a</i></b> <i>c <b>d</b></i>', '**_a_** *c **d***');
  isWritten('<i>a</i><b>b</b>', '*a*__b__');
  isWritten('<del><b>"a"</b></del><del>b</del>', '~~<strong>"a"</strong>b~~');
  isWritten('<b>a<p>b</p></b>', '**a**\n\n**b**');
  isWritten('<del>a</del> H<sub>2</sub>O x<sup>2</sup>', '~~a~~ H<sub>2</sub>O x<sup>2</sup>');
});

test('text that looks like Markdown is escaped, and other text is not', () => {
  isWritten(
    '<p># a</p><p>1. b</p><p>- c</p><p>&gt; d</p><p>===</p><p>+ e</p>',
    '\\# a\n\n1\\. b\n\n\\- c\n\n\\> d\n\n\\===\n\n\\+ e',
  );
  isWritten('*a* `b` &lt;div&gt; &amp;amp; [a](b) a\\*', '\\*a\\* \\`b\\` \\<div> \\&amp; [a\\](b) a\\\\\\*');
  isWritten(
    'snake_case __init__ a &lt; b list[0] 5 &amp; 6 ~/x C:\\dir #1 a-b',
    'snake_case \\_\\_init\\_\\_ a < b list[0] 5 & 6 ~/x C:\\dir #1 a-b',
  );
});

test('quotes, rules, breaks, details, formulas and white space', () => {
  isWritten('<blockquote><p>a</p><blockquote>b</blockquote><footer>c</footer></blockquote>', '> a\n>\n> > b\n>\n> c');
  isWritten('a<hr>b<br>c<br><br>', 'a\n\n***\n\nb\\\nc');
  isWritten('<details><summary>More</summary>text</details>', '**More**\n\ntext');
  isWritten(
    '<math display="block"><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></semantics></math>',
    '$$x^2$$',
  );
  isWritten('<p>  a\n\t b&nbsp; c&shy;d\u200be </p>', 'a b cde');
  isWritten('<p dir="rtl">مرحبا <b>بالعالم</b></p><p>日本語の<b>文</b>。</p>', 'مرحبا **بالعالم**\n\n日本語の**文**。');
});
