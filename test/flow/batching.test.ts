import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LedgerChange } from '../../src/ports/ledger.ts';
import { submit, tempDataDir, untilFinished, withEngine } from './engine.ts';

const SITES = ['north', 'east', 'south'] as const;

/** `north-0`, `north-1` …, site by site. */
function pagesOf(perSite: number, input: (itemId: string) => Record<string, unknown> = () => ({})) {
  return SITES.flatMap((group) =>
    Array.from({ length: perSite }, (_, index) => {
      const item_id = `${group}-${index}`;
      return { item_id, input: input(item_id), group };
    }),
  );
}

test('the pages of one site are carried out by one worker, one after another and in their order', async () => {
  const scrapers = [join(import.meta.dirname, 'scrapers')];
  await withEngine({ dataDir: tempDataDir(), workers: 2, scrapers }, async (engine) => {
    const changes: LedgerChange[] = [];
    engine.ledger.subscribe((change) => changes.push(change));
    await submit(engine, {
      job_id: 'sites',
      scraper_id: 'who-and-when',
      items: pagesOf(6),
      batching: { by: 'group', max_items: 6 },
      execution_policy: { throttling: { max_concurrent_workers: 3 } },
    });
    const job = await untilFinished(engine, 'sites');
    assert.equal(job.counts.success, 18);

    const went = changes.filter((change) => change.kind === 'dispatched');
    assert.deepEqual(
      [went.reduce((sum, { batches }) => sum + batches, 0), went.reduce((sum, { items }) => sum + items, 0)],
      [3, 18],
    );
    for (const site of SITES) {
      const runs: { readonly pid: number; readonly begun: number; readonly ended: number }[] = [];
      for (let index = 0; index < 6; index += 1) {
        const item = await engine.ledger.item('sites', `${site}-${index}`);
        const [artifact] = item?.artifacts ?? [];
        assert.ok(item?.group === site && item.deliveries === 1 && artifact);
        runs.push(JSON.parse(new TextDecoder().decode((await engine.store.get(artifact.key)) ?? undefined)));
      }
      assert.equal(new Set(runs.map(({ pid }) => pid)).size, 1, `${site}: one worker`);
      for (const [index, { begun }] of runs.entries()) {
        assert.ok(begun > (runs[index - 1]?.ended ?? 0), `${site}-${index} began when the one before had ended`);
      }
    }
  });
});

test('an item that kills its worker costs its site nothing but itself', async () => {
  await withEngine({ dataDir: tempDataDir() }, async (engine) => {
    let deaths = 0;
    engine.events.subscribe(({ kind }) => {
      if (kind === 'worker-left') deaths += 1;
    });
    await submit(engine, {
      job_id: 'killer',
      scraper_id: 'example-killer',
      items: pagesOf(5, (itemId) => ({ kill: itemId === 'east-2' })),
      batching: { by: 'group', max_items: 5 },
      execution_policy: { throttling: { max_concurrent_workers: 2 } },
    });
    const { counts } = await untilFinished(engine, 'killer');
    assert.deepEqual([counts.success, counts.failed], [14, 1]);
    const guilty = await engine.ledger.item('killer', 'east-2');
    assert.equal(guilty?.attempts.at(-1)?.failure?.type, 'poison');
    assert.equal(deaths, 3);
  });
});
