import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import { presentItem } from '../../src/controller/api/present-item.ts';
import { download } from '../../src/controller/results/download.ts';
import { verifyJob } from '../../src/controller/results/verify.ts';
import type { StoredArtifact } from '../../src/domain/artifact.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { PackingStore } from '../support/packing-store.ts';
import { resultRows } from '../support/result-rows.ts';
import { itemsOf, tempDataDir } from './engine.ts';
import { openEngineHere } from './in-process.ts';

const digest = (text: string) => hash('sha256', text);

test('a store that packs results needs nothing else to change: they are listed, checked, exported and downloaded', async () => {
  const dataDir = tempDataDir();
  const engine = await openEngineHere(dataDir, { store: (files) => new PackingStore(files) });
  try {
    const { ledger, store } = engine;
    await engine.submit({ job_id: 'packed', scraper_id: 'example-mock', items: itemsOf(20) });
    for (;;) {
      const job = await ledger.job('packed');
      if (job?.status === 'completed' && job.manifest !== null) break;
      await engine.clock.sleep(20);
    }
    const record = await ledger.item('packed', itemsOf(1)[0]?.item_id ?? '');
    assert.ok(record);
    const html = artifactOf(record.artifacts, 'html');
    assert.ok(html.key.startsWith('packed/segments/') && (html.offset ?? 0) > 0 && (html.length ?? 0) > 0);

    const report = await verifyJob({ store, digest }, 'packed');
    assert.ok(report.kind === 'checked');
    assert.deepEqual([report.problems, report.checked.artifacts >= 40], [[], true]);

    const rows = await Array.fromAsync(resultRows({ ledger, store, pathOf: ({ key }) => key }, 'packed'));
    assert.ok(rows.length === 20 && rows.every(({ data, data_problem: why }) => data !== null && why === undefined));

    const whole = await store.get(html);
    assert.ok(whole);
    const answer = await download({ itemId: 'a', artifact: html, store, headers: { range: 'bytes=3-8' } });
    assert.deepEqual([answer?.status, answer?.headers['Content-Range']], [206, `bytes 3-8/${html.size}`]);
    assert.match(answer?.headers['Content-Disposition'] ?? '', /filename="a-html\.html"/);
    assert.deepEqual(Buffer.concat(await Array.fromAsync(answer?.body ?? [])), Buffer.from(whole.subarray(3, 9)));

    const [shown] = presentItem(record).artifacts.filter(({ kind }) => kind === 'html');
    assert.deepEqual([shown?.key, shown?.offset, shown?.length], [html.key, html.offset, html.length]);
    const manifest = await store.get(`packed/manifests/items/${record.itemId}.json`);
    const { storage_keys: keys, storage_slices: slices } = JSON.parse(Buffer.from(manifest ?? []).toString());
    assert.deepEqual([keys.html, slices.html], [html.key, pick(html)]);
  } finally {
    await engine.stop();
  }
  await checkAfterCrash(dataDir);
});

/** A segment that lost its end takes only those with it that were there. */
async function checkAfterCrash(dataDir: string): Promise<void> {
  const root = join(dataDir, 'results');
  const files = await openFileResultStore(root, { clock: new FakeClock() });
  const store = new PackingStore(files);
  const how = { contentType: 'text/plain', ifTaken: 'keep' } as const;
  const stored = await store.putAll([
    { ...how, key: 'torn/a', body: Buffer.from('first'), encoding: 'identity' },
    { ...how, key: 'torn/b', body: Buffer.from('second'.repeat(500)), encoding: 'gzip' },
  ]);
  const [first, second] = stored.map((each): StoredArtifact => ({ kind: 'html', contentType: 'text/plain', ...each }));
  assert.ok(first && second);
  assert.deepEqual([await files.check(first), await files.check(second)], [true, true]);
  assert.equal(await files.check({ ...second, sha256: first.sha256 }), false);
  assert.equal(await files.check({ ...second, size: 10 }), false);
  const file = join(root, first.key);
  await truncate(file, (await readFile(file)).length - 1);
  assert.deepEqual([await files.check(first), await files.check(second)], [true, false]);
}

function artifactOf(artifacts: readonly StoredArtifact[], kind: string): StoredArtifact {
  return artifacts.find((each) => each.kind === kind) ?? assert.fail(`nothing of ${kind}`);
}

function pick({ offset, length, encoding }: StoredArtifact) {
  return { offset, length, encoding };
}
