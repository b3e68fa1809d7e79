import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { detailCount, startLinkedSite } from '../models/linked-site.ts';
import { sized } from '../support/sized.ts';
import { nextEvent, submit, tempDataDir, untilFinished, untilJob, withEngine } from './engine.ts';

const SIZE = sized({ quick: { pages: 8, linksPerPage: 10 }, slow: { pages: 40, linksPerPage: 25 } });
const KILLS = sized({ quick: 2, slow: 20 });

test('a listing is followed to every detail page once, whatever is linked twice and however often workers are killed', async (t) => {
  const site = await startLinkedSite(SIZE);
  t.after(() => site.close());
  const scrapers = [fileURLToPath(new URL('../models/scrapers', import.meta.url))];
  const config = { dataDir: tempDataDir(), scrapers, allowAddresses: 'loopback' };
  const all = SIZE.pages + detailCount(SIZE);
  await withEngine({ ...config, routes: `http://linked.test=${site.origin}` }, async (engine, pids) => {
    await submit(engine, {
      job_id: 'linked',
      scraper_id: 'model-linked',
      items: [{ input: { url: 'http://linked.test/list/0' } }],
      execution_policy: {
        throttling: { max_concurrent_workers: 4, adaptive: false },
        retries: { backoff_factor: 0.01 },
        circuit_breaker: { min_requests: 100_000, consecutive_failures: 100_000 },
        discovery: { max_depth: 1000 },
      },
    });
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await untilJob(engine, 'linked', ({ counts }) => counts.success >= (kill * all) / (KILLS + 2));
      const left = nextEvent(engine, ({ kind }) => kind === 'worker-left');
      const [victim] = pids();
      if (victim === undefined) continue;
      process.kill(victim, 'SIGKILL');
      await left;
    }
    const { counts, discovery } = await untilFinished(engine, 'linked');
    assert.deepEqual([counts.total, counts.success], [all, all]);
    const { entries } = await engine.ledger.items(
      'linked',
      { status: null, errorType: null },
      { after: null, limit: all + 1 },
    );
    const paths = entries.map(({ itemId }) => new URL(itemId).pathname);
    assert.equal(new Set(paths).size, all, 'each page is one item');
    assert.ok(
      entries.every(({ seq, depth = 0 }) => depth > 0 === seq > 0),
      'all but the first were found',
    );
    // What each page has links to, counted once per page that ended.
    const links = SIZE.pages * (SIZE.linksPerPage + 3) + 2 * detailCount(SIZE);
    assert.deepEqual(discovery, {
      ...{ added: all - 1, duplicates: links - all + 1, conflicts: 0, tooDeep: 0, overLimit: 0, invalid: 0 },
    });
    const repeated = [...site.visits.values()].reduce((sum, visits) => sum + visits - 1, 0);
    assert.ok(repeated <= 4 * KILLS + site.refused(), `${repeated} pages were asked for again`);
  });
});
