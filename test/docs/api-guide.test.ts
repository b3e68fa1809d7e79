import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadConfig } from '../../src/config.ts';
import { PROBLEMS } from '../../src/contract/problem.ts';
import { DEFAULT_FEED_SETTINGS } from '../../src/controller/feed/job-feeds.ts';
import { MAX_ITEM_ID_LENGTH } from '../../src/domain/item.ts';
import { ITEMS_PER_PART } from '../../src/domain/manifest.ts';
import { blocksOf, isShown, openGuide } from './guide.ts';

const GUIDE = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');

test('every command of the API guide does what the guide shows', { timeout: 600_000 }, async (t) => {
  const blocks = blocksOf(GUIDE);
  const steps = blocks.flatMap((block) => (block.kind === 'console' ? block.steps : []));
  assert.ok(steps.length >= 50, 'the blocks were not found');
  const guide = openGuide();
  for (const block of blocks) {
    if (block.kind === 'terminal') {
      await guide.start(block.command);
      continue;
    }
    for (const { command, expected } of block.steps) {
      const { code, stdout, stderr } = await guide.run(command);
      assert.equal(code, 0, `$ ${command}\n${stdout}${stderr}`);
      assert.ok(isShown(expected, stdout), `$ ${command}\n\nshown:\n${expected}\nwritten:\n${stdout}`);
    }
  }
  await t.test('its table of paths matches the API, with the access that each path needs', async () => {
    const answer = await fetch(`${guide.address('8080')}/openapi.json`);
    const { paths } = (await answer.json()) as { paths: Record<string, Record<string, object>> };
    const served = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const section = GUIDE.slice(GUIDE.indexOf('## Every path'));
    const listed = [...section.matchAll(/^\| `([A-Z]+ [^`]+)` \|.*\| (open|read|full) \|$/gm)];
    assert.deepEqual(listed.map(([, path]) => path).sort(), served.sort());
    for (const [, path = '', access] of listed) {
      const [method, template = ''] = path.split(' ');
      // Access is checked before anything else.
      const tried = await fetch(`${guide.address('8081')}${template.replaceAll(/[{}]/g, '')}`, {
        ...(method === undefined ? {} : { method }),
        headers: access === 'full' ? { 'x-api-key': 'only-look' } : {},
      });
      await tried.body?.cancel();
      assert.equal(tried.status, { open: 200, read: 401, full: 403 }[access ?? ''], path);
    }
  });
});

test('the table of errors has every code, with its status', () => {
  const section = GUIDE.slice(GUIDE.indexOf('## Errors'), GUIDE.indexOf('## Keys and access'));
  const listed = [...section.matchAll(/^\| (`.+`) \| (\d{3}) \|/gm)].flatMap(([, codes = '', status]) =>
    [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => `${code} ${status}`),
  );
  const known = Object.entries(PROBLEMS).map(([code, { status }]) => `${code} ${status}`);
  assert.deepEqual(listed.sort(), known.sort());
});

test('the limits that the guide names match the code', () => {
  const section = GUIDE.slice(GUIDE.indexOf('## Limits'), GUIDE.indexOf('## Every path'));
  const limit = (what: string) => section.split('\n').find((line) => line.startsWith(`| ${what} |`)) ?? '';
  const { maxBodyBytes } = loadConfig({}, {});
  assert.match(limit('`POST /jobs`'), new RegExp(`\\| ${maxBodyBytes / 2 ** 30} GiB `));
  assert.match(limit('`item_id`'), new RegExp(`\\| ${MAX_ITEM_ID_LENGTH.toLocaleString('en')} `));
  assert.match(limit('items in a part of the results'), new RegExp(`\\| ${ITEMS_PER_PART.toLocaleString('en')} `));
  const watchers = DEFAULT_FEED_SETTINGS.maxWatchers.toLocaleString('en');
  assert.match(limit('event streams open at a time'), new RegExp(`\\| ${watchers} `));
});

test('the output of a command is compared as a whole, and … matches anything', () => {
  assert.ok(isShown('{"a": 1,\n "b": …}', '{"a":1,"b":{"c":2}}'));
  assert.ok(!isShown('{"a":1}', '{"a":1,"b":2}'));
  assert.ok(!isShown('…"b":2}', '{"a":1,"b":2}x'));
  assert.ok(!isShown('{"a":…}', 'x{"a":1}'));
  assert.ok(!isShown('ab…ba', 'aba'));
});
