import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_ROBOTS_BYTES } from '../../src/domain/robots.ts';
import { parseRobots } from '../../src/scraping/robots/parse-robots.ts';

const ORIGIN = 'https://county.example';

/** What the file says of each path: the number of the line that disallows it, or 0. */
function linesOf(text: string, ...paths: readonly string[]): (number | null)[] {
  const rules = parseRobots(text, ORIGIN);
  return paths.map((path) => {
    const verdict = rules.judge(`${ORIGIN}${path}`);
    return verdict.kind === 'allowed' ? 0 : verdict.line;
  });
}

test('the longest rule applies, and of two equally long ones, the one that allows', () => {
  const text = 'User-agent: *\nDisallow: /parcel\nAllow: /parcel/list\nDisallow: /a\nAllow: /a\n';
  assert.deepEqual(linesOf(text, '/parcel/1', '/parcel/list?x=1', '/a', '/', '/Parcel'), [2, 0, 0, 0, 0]);
});

test('wildcards stand for anything, and a dollar for the end', () => {
  const text = 'User-agent: *\nDisallow: /*/view/*/2024\nDisallow: /*.pdf$\nDisallow: /*?print=\n';
  const paths = ['/parcel/view/7/2024', '/parcel/view/7/2025', '/a.pdf', '/a.pdf?x', '/x?print=1'];
  assert.deepEqual(linesOf(text, ...paths), [2, 0, 3, 0, 4]);
});

test('rules for trawl, from all of its groups, in any case and with a version, apply instead of those for all agents', () => {
  const text = [
    ...['User-agent: *', 'Disallow: /', ''],
    ...['User-agent: other', 'User-agent: TRAWL/1.0', 'Disallow: /one', ''],
    ...['User-agent: trawler', 'Disallow: /three', ''],
    ...['User-agent: trawl', 'Disallow: /two'],
  ].join('\n');
  assert.deepEqual(linesOf(text, '/one', '/two', '/three', '/four'), [6, 12, 0, 0]);
});

test('an empty rule for trawl allows it everything', () => {
  assert.deepEqual(linesOf('User-agent: *\nDisallow: /\n\nUser-agent: trawl\nDisallow:\n', '/a'), [0]);
});

test('lines about other things do not separate the names of a group, and comments do not count as lines', () => {
  const text =
    'User-agent: * # all\nSitemap: https://county.example/map.xml\n\nUser-agent: other\n# a\ndisallow : /x # b\n';
  assert.deepEqual(linesOf(text, '/x', '/y'), [6, 0]);
});

test('a byte order mark, CRLF and CR are read like any other file', () => {
  for (const [name, text] of [
    ['BOM', '\ufeffUser-agent: *\nDisallow: /x'],
    ['CRLF', 'User-agent: *\r\nDisallow: /x\r\n'],
    ['CR', 'User-agent: *\rDisallow: /x\r'],
  ] as const) {
    assert.deepEqual(linesOf(text, '/x', '/y'), [2, 0], name);
  }
});

test('escapes are compared by the characters that they represent', () => {
  const text = 'User-agent: *\nDisallow: /~joe\nDisallow: /%7Eann/b%2fc\nDisallow: /straße\nDisallow: /*%24\n';
  const paths = ['/%7ejoe', '/~ann/b%2Fc', '/~ann/b/c', '/stra%c3%9fe', '/x%24', '/x'];
  assert.deepEqual(linesOf(text, ...paths), [2, 3, 0, 4, 5, 0]);
});

test('a file that is not one allows everything', () => {
  const page = '<html><head><title>Not found</title></head><body>User-agent</body></html>';
  for (const text of ['', page, ':', 'Disallow: /', '\0\0\0', 'User-agent: *']) {
    assert.deepEqual(linesOf(text, '/x'), [0], JSON.stringify(text));
  }
});

test('the crawl-delay is that of our group', () => {
  const delay = (text: string) => parseRobots(text, ORIGIN).crawlDelayMs;
  assert.equal(delay('User-agent: *\nCrawl-delay: 2.5\n'), 2500);
  assert.equal(delay('User-agent: *\nCrawl-delay: 10\nUser-agent: trawl\nCrawl-delay: 1\n'), 1000);
  assert.equal(delay('User-agent: other\nCrawl-delay: 10\n'), 0);
  assert.equal(delay('User-agent: *\nCrawl-delay: soon\n'), 0);
});

/** As long as such a file may be. */
function fill(start: string, piece: (number: number) => string): string {
  const pieces = [start];
  for (let size = start.length, number = 0; size < MAX_ROBOTS_BYTES; number += 1) {
    pieces.push(piece(number));
    size += pieces.at(-1)?.length ?? 0;
  }
  return pieces.join('').slice(0, MAX_ROBOTS_BYTES);
}

test('a file made to keep us busy takes little time and memory, and never allows what it may disallow', () => {
  const names = fill('', (number) => `User-agent: a${number}\n`).slice(0, MAX_ROBOTS_BYTES / 2);
  const files = {
    'names times rules': `User-agent: *\n${names}\n${'Disallow: /x\n'.repeat(18_000)}`,
    'our name again and again': fill('', () => 'User-agent: *\nUser-agent: trawl\n').replace(
      /\n[^\n]*$/,
      '\nDisallow: /x\n',
    ),
    'one long pattern': fill('User-agent: *\nDisallow: /x\nDisallow: /', () => '*a'),
    'stars only': fill('User-agent: *\nDisallow: /x\nDisallow: /', () => '*'),
    'many patterns': fill('User-agent: *\nDisallow: /x\n', () => `Disallow: /${'*a'.repeat(50)}\n`),
    'many rules': fill('User-agent: *\nDisallow: /x\n', () => 'Disallow: /\n'),
    'one long line': fill('User-agent: *\nDisallow: /x\nDisallow: /', () => 'a'),
    'one long comment': fill('User-agent: *\nDisallow: /x\n#', () => '#'),
    escapes: fill('User-agent: *\nDisallow: /x\nDisallow: /', () => '%61'),
  };
  for (const [name, text] of Object.entries(files)) {
    const before = process.cpuUsage();
    const rules = parseRobots(text, ORIGIN);
    assert.ok(rules.weight <= MAX_ROBOTS_BYTES, name);
    for (const length of [10, 500, 8000]) {
      assert.equal(rules.judge(`${ORIGIN}/x${'a'.repeat(length)}b`).kind, 'disallowed', `${name} ${length}`);
    }
    const { user, system } = process.cpuUsage(before);
    // A guard: the library alone takes minutes for some of these, or runs out of memory.
    assert.ok(user + system < 20_000_000, `${name} took ${(user + system) / 1000} ms`);
  }
});
