import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toMarkdown } from '../../src/scraping/markdown/to-markdown.ts';
import { countFound, type ParsedElement, readHtml, readMarkdown } from '../support/page-words.ts';
import { MODEL_PAGES, type ModelPage } from './markdown-model-pages.ts';

/** All pages of real packages in the same structures are measured by `npm run bench -- markdown`. */
for (const page of MODEL_PAGES) {
  test(`a page in the structure of ${page.name} keeps its words and its code, and no navigation`, () => {
    const { markdown } = toMarkdown(page.html, { url: 'https://docs.example/manual/page.html' });
    const wanted = readHtml(
      page.html,
      (element) => isContent(element, page),
      (element) => isOutside(element, page),
    );
    const given = readMarkdown(markdown);
    assert.ok(wanted.words.length > 40 && wanted.codes.length > 0);
    assert.ok(countFound(wanted.words, given.words) >= 0.99 * wanted.words.length, markdown);
    assert.deepEqual(given.codes, wanted.codes);
    assert.deepEqual(
      page.navigation.filter((word) => given.words.includes(word)),
      [],
    );
  });
}

function isContent({ tagName, attrs }: ParsedElement, { content }: ModelPage): boolean {
  return tagName === content.name || attrs.some(({ name, value }) => name === 'role' && value === content.role);
}

function isOutside({ attrs }: ParsedElement, { outside }: ModelPage): boolean {
  return attrs.some(
    ({ name, value }) => (name === 'class' || name === 'id') && value.split(' ').some((one) => outside.includes(one)),
  );
}
