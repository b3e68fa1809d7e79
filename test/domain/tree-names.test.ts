import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { urlFormatOfBytes } from '../../src/cli/bulk/url-list.ts';
import { TreeNames } from '../../src/domain/tree-names.ts';
import { digest } from '../../src/main/digest.ts';

test('files mirror the paths of their site', () => {
  const names = new TreeNames(digest);
  const cases: readonly (readonly [path: string, name: string])[] = [
    ['', 'node/index.md'],
    ['/guide/', 'node/guide/index.md'],
    ['/guide/start', 'node/guide/start.md'],
    ['/guide/install.html', 'node/guide/install.md'],
    ['/v1.2/notes', 'node/v1.2/notes.md'],
    ['/a%20b', 'node/a_b~'],
  ];
  for (const [path, name] of cases) {
    const given = names.nameOf('node', path);
    assert.ok(name.endsWith('.md') ? given === name : given.startsWith(name), `${path}: ${given}`);
    assert.equal(names.nameOf('node', path), given);
  }
});

test('pages that differ in the query, the case or the extension are different files', () => {
  const names = new TreeNames(digest);
  const paths = ['/a', '/a?v=1', '/a?v=2', '/A', '/a.html', '/a.htm', '/a/', '/a.md/b', '/index', '/'];
  const given = paths.map((path) => names.nameOf('node', path).toLowerCase());
  assert.equal(new Set(given).size, paths.length, given.join(' '));
});

test('no path leaves the folder, and no file has the name of a folder', () => {
  const segment = fc.oneof(
    fc.constantFrom('..', '.', '%2e%2e', '%2F', '\\', 'con', '~', 'a', 'A', 'a.md', '%00', '%', 'index', '?', ' '),
    fc.string({ maxLength: 10 }),
  );
  const path = fc.array(segment, { maxLength: 5 }).map((parts) => parts.map((part) => `/${part}`).join(''));
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('node', 'Node', '..'), path), { maxLength: 30 }), (pages) => {
      const names = new TreeNames(digest);
      const byPage = new Map(pages.map(([site, each]) => [JSON.stringify([site, each]), names.nameOf(site, each)]));
      const folded = [...byPage.values()].map((name) => name.normalize('NFC').toLowerCase());
      assert.equal(new Set(folded).size, byPage.size);
      for (const name of folded) {
        assert.ok(
          name.split('/').every((part) => !/^(?:\.{0,2}|con)$|[\\\0:]/.test(part)),
          name,
        );
        assert.ok(!folded.some((other) => other.startsWith(`${name}/`)), name);
      }
    }),
  );
});

test('a list that comes through a pipe is recognised by its beginning', () => {
  const formatOf = (text: string) => urlFormatOfBytes(Buffer.from(text));
  assert.equal(formatOf('https://a.test/1\nhttps://a.test/2\n'), 'lines');
  assert.equal(formatOf('# pages\nhttps://a.test/1'), 'lines');
  assert.equal(formatOf('title,url\nStart,https://a.test/1'), 'csv');
  assert.equal(formatOf('url\nhttps://a.test/1'), 'csv');
  assert.equal(formatOf(' ["https://a.test/1"]'), 'json');
  assert.equal(formatOf('{"url":"https://a.test/1"}\n'), 'jsonl');
  assert.equal(formatOf(''), 'lines');
});
