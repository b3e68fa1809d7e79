import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { MAX_FOUND, MAX_FOUND_BYTES } from '../../src/domain/found.ts';
import { SecretBook } from '../../src/domain/secrets.ts';
import { definePlainScraper } from '../../src/scraping/define-scraper.ts';
import type { FoundItem, ScrapeResult } from '../../src/scraping/scraper.ts';
import { readFound } from '../../src/worker/read-found.ts';

const SCRAPER = definePlainScraper({
  ...{ id: 'links', name: 'Links', version: '1', description: '' },
  input: z.object({ url: z.string().startsWith('https://') }),
  scrape: async () => ({ kind: 'scraped', artifacts: [] }),
});

const DEPS = { tools: { secrets: new SecretBook(new Map()) }, digest: (text: string) => `digest of ${text.length}` };

function read(found: readonly unknown[], depth?: number, deps = DEPS) {
  const result: ScrapeResult = { kind: 'scraped', artifacts: [], found: found as readonly FoundItem[] };
  return readFound(result, SCRAPER, depth === undefined ? {} : { depth }, deps);
}

function urls(count: number): FoundItem[] {
  return Array.from({ length: count }, (_, index) => ({ input: { url: `https://example.test/${index}` } }));
}

test('found items have an id and the next depth; without an id of their own they get that of a submitted item', () => {
  const found = read([{ item_id: 'one', input: { url: 'https://example.test/1' } }, ...urls(1)]);
  assert.deepEqual(found?.found, {
    items: [
      { itemId: 'one', input: { url: 'https://example.test/1' }, depth: 1 },
      { itemId: 'https://example.test/0', input: { url: 'https://example.test/0' }, depth: 1 },
    ],
  });
  assert.equal(read(urls(1), 4)?.found.items[0]?.depth, 5);
});

test('an input from which no readable id can be derived gets its digest as an id, in whatever order its fields are', () => {
  const url = `https://example.test/${'x'.repeat(2000)}`;
  const ids = read([{ input: { url, more: 1 } }, { input: { more: 1, url } }])?.found.items.map(({ itemId }) => itemId);
  assert.deepEqual(ids, [`digest of ${url.length + 19}`, `digest of ${url.length + 19}`]);
});

test('entries that cannot be items are counted and described, and the others are taken', () => {
  const found = read([
    ...urls(1),
    { input: { url: 'ftp://x' } },
    'x',
    { url: 'https://example.test/' },
    { input: {}, x: 1 },
  ]);
  assert.equal(found?.found.items.length, 1);
  assert.equal(found.found.invalid, 4);
  assert.deepEqual(found.facts, {
    found: 1,
    invalid_found: [
      'found[1]: url: Invalid string: must start with "https://"',
      'found[2]: it must be { input: { … } }',
      'found[3]: it must be { input: { … } }',
      'found[4]: it has the unknown field x',
    ],
  });
});

test('an input with the value of a secret is not taken: every reader of the job would see it', () => {
  const secrets = new SecretBook(new Map([['key', 'a-long-secret']]));
  const found = read([{ input: { url: 'https://example.test/?k=a-long-secret' } }, ...urls(1)], 0, {
    ...DEPS,
    tools: { secrets },
  });
  assert.deepEqual(
    found?.found.items.map(({ itemId }) => itemId),
    ['https://example.test/0'],
  );
  assert.equal(found.found.invalid, 1);
});

test('what one attempt finds beyond the limits of number and size is counted', () => {
  assert.deepEqual(read(urls(MAX_FOUND))?.found.beyond, undefined);
  const many = read(urls(MAX_FOUND + 3));
  assert.deepEqual([many?.found.items.length, many?.found.beyond, many?.facts['found']], [MAX_FOUND, 3, MAX_FOUND + 3]);
  const large = { input: { url: `https://example.test/${'x'.repeat(MAX_FOUND_BYTES / 2)}` } };
  const heavy = read([large, { item_id: 'other', ...large }, ...urls(1)]);
  assert.deepEqual([heavy?.found.items.length, heavy?.found.beyond], [1, 2]);
});

test('a failed try and a re-extraction find nothing', () => {
  const failure = { type: 'timeout', message: '', cause: null, retryAfterMs: null } as const;
  assert.equal(readFound({ kind: 'failed', failure }, SCRAPER, {}, DEPS), null);
  const page = { kind: 'html', key: 'k', size: 1, sha256: '', encoding: 'identity', contentType: 'text/html' } as const;
  const stored = { source: { html: page, metadata: null } };
  assert.equal(readFound({ kind: 'scraped', artifacts: [], found: urls(1) }, SCRAPER, stored, DEPS), null);
});
