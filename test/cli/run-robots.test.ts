import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSite } from '../scraping/http-support.ts';
import { command, tempFolder, writeLines } from './trawl.ts';

test('a run that respects robots.txt skips what it disallows, and says so in counts and results', async (t) => {
  const site = await openSite(t, ({ path }) =>
    path === '/robots.txt' ? 'User-agent: *\nDisallow: /parcel/\nAllow: /parcel/2$\n' : '<title>A page</title>',
  );
  const folder = tempFolder();
  const out = join(folder, 'out');
  const pages = ['/parcel/1', '/parcel/2', '/parcel/3', '/about'];
  const items = writeLines(
    folder,
    'items.jsonl',
    pages.map((path, at) => ({ item_id: `p-${at}`, input: { url: `${site.origin}${path}` } })),
  );
  const policy = writeLines(folder, 'policy.json', [{ robots: 'respect' }]);
  const ended = await command(['run', 'example-http', '--items', items, '--policy', policy, '--out', out, '--json'], {
    TRAWL_ALLOW_ADDRESSES: 'loopback',
  });
  assert.equal(ended.code, 0, `${ended.stdout}\n${ended.stderr}`);
  const { summary } = JSON.parse(ended.stdout);
  assert.deepEqual([summary.success, summary.skipped, summary.failed, summary.total], [2, 2, 0, 4]);
  const lines = readFileSync(join(out, 'results.jsonl'), 'utf8').trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)).map(({ item_id, status, skip_reason }) => [item_id, status, skip_reason]),
    [
      ['p-0', 'skipped', 'robots'],
      ['p-1', 'success', undefined],
      ['p-2', 'skipped', 'robots'],
      ['p-3', 'success', undefined],
    ],
  );
  const asked = site.asked.map(({ path }) => path);
  assert.deepEqual(asked.toSorted(), ['/about', '/parcel/2', '/robots.txt']);
  assert.equal(asked[0], '/robots.txt');
});
