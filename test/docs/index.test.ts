import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const DOCS = new URL('../../docs/', import.meta.url);
const INDEX = readFileSync(new URL('README.md', DOCS), 'utf8');
const PAGES = readdirSync(DOCS).filter((name) => name.endsWith('.md') && name !== 'README.md');

/** What people type into a search box. */
const WORDS = [
  ...['crawl', 'pagination', 'rate limit', 'resume', 'retry', 'captcha', 'blocked', 'proxy', 'schedule', 'incremental'],
  ...['login', 'token', 'secret', 'PDF', 'POST', 'JSON', 'GraphQL', 'timeout', 'backoff', 'circuit breaker', 'refresh'],
];

test('every page is in the index, and the index is in the README', () => {
  const missing = PAGES.filter((name) => !INDEX.includes(`](${name})`));
  assert.deepEqual(missing, []);
  assert.match(readFileSync(new URL('../README.md', DOCS), 'utf8'), /\]\(docs\/README\.md\)/);
});

test('each word that people search for is in the index, and in a heading of a page that the index leads to', () => {
  const [, byWord = ''] = INDEX.split('## By word');
  const rows = byWord.split('\n').filter((line) => line.startsWith('| '));
  for (const word of WORDS) {
    const found = rows.filter((line) => hasWord(line.split('|')[1] ?? '', word));
    assert.ok(found.length > 0, `no row for ${word}`);
    const pages = [...found.join().matchAll(/\]\(([\w-]+\.md)/g)].map(([, page = '']) => page);
    const headings = pages.flatMap((page) => readFileSync(new URL(page, DOCS), 'utf8').match(/^#+ .+$/gm) ?? []);
    assert.ok(
      headings.some((heading) => hasWord(heading, word)),
      `no heading with ${word} in ${pages.join(', ')}`,
    );
  }
});

/** Other forms of the word count as well: `crawling`, `retries`, `circuit_breaker`. */
function hasWord(text: string, word: string): boolean {
  return new RegExp(`\\b${word.replace(/y$/, '')}`, 'i').test(text.replaceAll('_', ' '));
}
