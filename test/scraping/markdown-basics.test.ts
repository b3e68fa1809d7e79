import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toMarkdown } from '../../src/scraping/markdown/to-markdown.ts';

const URL_OF_PAGE = 'https://docs.example/guide/start.html';

const convert = (html: string): string => toMarkdown(html, { url: URL_OF_PAGE, selector: 'body' }).markdown;

test('a page becomes headings, paragraphs, lists and code', () => {
  const markdown = convert(
    '<h1>Start<a class="headerlink" href="#start">¶</a></h1><p>Read <a href="../a.html#b">this</a> <b>first</b>.</p>' +
      '<ul><li><p>one</p></li><li>two<ol start="3"><li>three</li></ol></li></ul>' +
      '<div class="highlight-python3"><pre><span class="k">def</span> f():\n    pass\n</pre></div>',
  );
  assert.equal(
    markdown,
    '# Start\n\nRead [this](https://docs.example/a.html#b) **first**.\n\n- one\n- two\n\n  3. three\n\n' +
      '```python\ndef f():\n    pass\n```\n',
  );
});

test('title, headings, links and front matter come with the Markdown', () => {
  const html =
    '<title>Start — Docs</title><nav><a href="/b">b</a></nav><main><h1 id="s">The "start"</h1>' +
    '<p><a href="/b#c">b</a> <a href="c">c</a> <a href="mailto:a@b.c">mail</a></p></main>';
  const page = toMarkdown(html, { url: URL_OF_PAGE, frontMatter: true });
  assert.equal(
    page.markdown,
    `---\ntitle: "The \\"start\\""\nsource: "${URL_OF_PAGE}"\n---\n\n# The "start"\n\n` +
      '[b](https://docs.example/b#c) [c](https://docs.example/guide/c) [mail](mailto:a@b.c)\n',
  );
  assert.equal(page.title, 'The "start"');
  assert.deepEqual(page.headings, [{ level: 1, text: 'The "start"', plain: 'The "start"', id: 's' }]);
  assert.deepEqual(page.links, ['https://docs.example/b', 'https://docs.example/guide/c']);
});

test('a selector that finds nothing gives nothing', () => {
  const page = toMarkdown('<title>t</title><p>text</p>', { url: URL_OF_PAGE, selector: '#none', frontMatter: true });
  assert.deepEqual([page.markdown, page.title], ['', 't']);
});
