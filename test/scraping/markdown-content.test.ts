import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toMarkdown } from '../../src/scraping/markdown/to-markdown.ts';

const url = 'https://docs.example/guide/start.html';
const convert = (html: string): string => toMarkdown(html, { url }).markdown;
const TEXT = 'The converter reads the page once and writes what a reader came for, in the order of the page. '.repeat(
  4,
);
const LINKS = ['a', 'b', 'c', 'd', 'e'].map((name) => `<li><a href="/${name}">Chapter ${name}</a></li>`).join('');

/** Pages in the structures of generators, each around the same text. */
const PAGES: Readonly<Record<string, string>> = {
  Sphinx: `<div class="related"><ul>${LINKS}</ul></div><div class="document"><div class="body" role="main"><section id="t"><h1>Title<a class="headerlink" href="#t">¶</a></h1><p>${TEXT}</p></section></div></div><div class="sphinxsidebar"><h3>Table</h3><ul>${LINKS}</ul></div><div class="footer">© Somebody</div>`,
  Docusaurus: `<nav class="navbar">${LINKS}</nav><main><article><nav class="theme-doc-breadcrumbs">Home</nav><div class="theme-doc-markdown markdown"><header><h1>Title</h1></header><p>${TEXT}</p></div><footer class="theme-doc-footer"><a href="/edit" class="theme-edit-this-page">Edit this page</a></footer></article><nav class="pagination-nav"><a href="/n">Next</a></nav><div class="table-of-contents"><ul>${LINKS}</ul></div></main><footer>Footer</footer>`,
  MkDocs: `<header class="md-header">Site</header><main class="md-main"><div class="md-sidebar"><ul>${LINKS}</ul></div><div class="md-content"><article><a class="md-content__button" href="/edit">Edit</a><h1 id="t">Title<a class="headerlink" href="#t">#</a></h1><p>${TEXT}</p></article></div></main>`,
  mdBook: `<nav id="sidebar"><ol>${LINKS}</ol></nav><div id="menu-bar"><h1 class="menu-title">Book</h1></div><main><h1 id="t"><a class="header" href="#t">Title</a></h1><p>${TEXT}</p></main><nav class="nav-wrapper"><a class="nav-chapters" href="/n">Next</a></nav>`,
  DocBook: `<div class="navheader"><table><tr><td><a href="p">Prev</a></td></tr></table></div><div class="sect1"><div class="titlepage"><h1 class="title">Title</h1></div><p>${TEXT}</p></div><div class="navfooter"><a href="n">Next</a></div>`,
  Asciidoc: `<div id="header"><h1>Title</h1></div><div id="content"><div class="paragraph"><p>${TEXT}</p></div></div><div id="footer"><div id="footer-text">Last updated today</div></div>`,
  'no generator': `<div class="top"><a href="/">Home</a> <a href="/x">X</a></div><div class="columns"><div class="left"><ul>${LINKS}</ul></div><div class="right"><h1>Title</h1><p>${TEXT}</p></div></div><div class="bottom">© Somebody</div><div class="cookie-banner"><p>We use cookies. ${TEXT}</p></div>`,
  'text beside text': `<div class="left"><ul>${LINKS}</ul></div><h1>Title</h1><p>${TEXT}</p>`,
};

for (const [name, body] of Object.entries(PAGES)) {
  test(`the text of a page by ${name} is kept, and its navigation is not`, () => {
    assert.equal(convert(`<!doctype html><title>T</title><body>${body}</body>`), `# Title\n\n${TEXT.trim()}\n`);
  });
}

test('an index consists of its links', () => {
  assert.match(
    convert(`<nav>${LINKS}</nav><main><h1>Index</h1><ul>${LINKS}</ul></main>`),
    /^# Index\n\n- \[Chapter a\]/,
  );
  assert.match(convert(`<body><h1>Index</h1><ul>${LINKS}</ul></body>`), /^# Index\n\n- \[Chapter a\]/);
});

test('a heading outside of the main part begins the page', () => {
  assert.equal(convert(`<h1>Title</h1><main><p>${TEXT}</p></main>`), `# Title\n\n${TEXT.trim()}\n`);
  assert.equal(convert(`<header><h1>Site</h1></header><main><p>${TEXT}</p></main>`), `${TEXT.trim()}\n`);
});

test('a main part that is empty is not the content', () => {
  assert.equal(convert(`<main></main><div><p>${TEXT}</p></div>`), `${TEXT.trim()}\n`);
});

test('what a selector finds is taken, even where it would otherwise be left out', () => {
  const html = `<main><p>${TEXT}</p></main><nav class="toc"><p>only this</p><button>Copy</button></nav>`;
  assert.equal(toMarkdown(html, { url, selector: 'nav.toc' }).markdown, 'only this\n');
});

test('hidden text is left out, but not that of another tab', () => {
  const html =
    '<main><p>a</p><p hidden>b</p><p style="display: none">c</p><div role="tabpanel" hidden><p>d</p></div></main>';
  assert.equal(convert(html), 'a\n\nd\n');
});

test('a section about the things that pages have around their content is kept', () => {
  const html =
    '<main><section id="footer"><h2 id="sidebar">Sidebar</h2><p>a</p></section><div class="section" id="nav"><p>b</p></div></main>';
  assert.equal(convert(html), '## Sidebar\n\na\n\nb\n');
});
