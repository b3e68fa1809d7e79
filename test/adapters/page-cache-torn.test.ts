import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import type { CachedEntry } from '../../src/domain/cached-page.ts';
import { digest } from '../../src/main/digest.ts';
import { pagePacking } from '../../src/main/page-packing.ts';
import { composePageCache } from '../../src/ports/compose-page-cache.ts';
import { NOW } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemorySiteRows } from '../support/memory/site-rows.ts';

test('a content that a crash of the machine tore is gone, and is whole again once the page was read again', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'trawl-torn-'));
  t.after(() => rmSync(root, { recursive: true }));
  const store = await openFileResultStore(root, { clock: new FakeClock() });
  const cache = composePageCache({ rows: openMemorySiteRows<CachedEntry>(), store, digest, packing: pagePacking });
  const bodies = () =>
    readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.md\.zst$/.test(file));
  for (const [path, content] of [
    ['/small', 'a few words'],
    ['/large', 'many words '.repeat(1000)],
  ] as const) {
    const key = { site: 'docs', path, method: 'inner_html' } as const;
    const page = { kind: 'content', key, url: 'u', content, title: null, etag: null, lastModified: null } as const;
    const before = new Set(bodies());
    const [entry] = await cache.record([{ ...page, fetchedAt: NOW }]);
    const [file] = bodies().filter((name) => !before.has(name));
    if (entry?.type !== 'page' || file === undefined) return assert.fail('it was not kept');
    for (const torn of ['', 'a few', '\0'.repeat(40)]) {
      writeFileSync(join(root, file), torn);
      assert.equal(await cache.content('docs', entry), null, `${path} as ${JSON.stringify(torn)}`);
    }
    await cache.record([{ ...page, fetchedAt: NOW + 1 }]);
    assert.equal(await cache.content('docs', entry), content);
  }
});
