import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseHtml } from '../../src/scraping/extract/parse-html.ts';
import { findContent, wordsIn } from '../../src/scraping/sites/find-content.ts';

const TEXT = `<p>${'word '.repeat(60)}</p>`;

function look(body: string) {
  return findContent(parseHtml(`<!doctype html><html><head><title>T</title></head><body>${body}</body></html>`));
}

test('the content is in the closest place that generators of documentation use', () => {
  assert.equal(look(`<main><nav>${TEXT}</nav><article>${TEXT}</article></main>`).selector, 'main article');
  assert.equal(
    look(`<div class="document"><div class="body" role="main">${TEXT}</div></div>`).selector,
    'div.body[role="main"]',
  );
  assert.equal(look(`<div id="content">${TEXT}</div>`).selector, '#content');
  assert.deepEqual(look(`<main>${TEXT}</main>`), { selector: 'main', words: 60, isInHtml: true });
});

test('a list of articles is not the content of a page, nor is a teaser', () => {
  assert.equal(look(`<main>${`<article>${TEXT}</article>`.repeat(3)}</main>`).selector, 'main');
  const teaser = `<article>${TEXT}</article>`;
  assert.equal(look(`${teaser}<div>${TEXT.repeat(9)}</div>`).selector, null);
});

test('a page without text is one that scripts would fill', () => {
  assert.deepEqual(look('<main></main><div id="root">Loading</div><script>word word</script>'), {
    ...{ selector: null, words: 1, isInHtml: false },
  });
  assert.equal(look(`<div>${TEXT}${TEXT}</div>`).isInHtml, true);
});

test('a selector is looked up as far as it works without a browser', () => {
  const document = parseHtml(`<main>${TEXT}</main>`);
  assert.equal(wordsIn(document, 'main p'), 60);
  assert.equal(wordsIn(document, '.none'), 0);
  assert.deepEqual([wordsIn(document, '//main'), wordsIn(document, 'button:has-text("Copy")')], [60, 0]);
  for (const selector of ['//main/..', 'text=Copy', 'main[']) assert.equal(wordsIn(document, selector), null);
});
