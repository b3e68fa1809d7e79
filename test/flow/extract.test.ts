import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type County, startCounty } from '../../demo/county.ts';
import type { ChangesAnswer } from '../../src/contract/extraction-answers.ts';
import { extractBody } from '../../src/contract/requests.ts';
import { beginExtraction } from '../../src/controller/extraction/begin-extraction.ts';
import { ChangeBook } from '../../src/controller/extraction/changes.ts';
import { replaceResults } from '../../src/controller/extraction/replace-results.ts';
import { currentItems } from '../../src/controller/results/current-items.ts';
import type { ResultRow } from '../../src/controller/results/result-rows.ts';
import { verifyJob } from '../../src/controller/results/verify.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import type { Engine } from '../../src/main/engine.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { loadScrapers } from '../../src/scraping/registry.ts';
import { folderWith } from '../scraping/scraper-folder.ts';
import { openFileCatalog } from '../support/file-catalog.ts';
import { resultRows } from '../support/result-rows.ts';
import { submit, tempDataDir, untilFinished, withEngine } from './engine.ts';

const SHIPPED = fileURLToPath(new URL('../../scrapers', import.meta.url));
const PARCELS = 60;
const digest = (text: string) => hash('sha256', text);

/** The county's scraper, of which the newer version shouts every owner whose name has an A in it. */
function newerCounty(t: TestContext): string {
  const source = readFileSync(join(SHIPPED, 'demo/county.ts'), 'utf8');
  const changed = source
    .replace("id: 'demo-county'", "id: 'demo-county-again'")
    .replace("version: '1.0.0'", "version: '2.0.0'")
    .replace(/owner: (page\.text\(.*?\)),/, (_, read) => `owner: ${read}.replace(/^(?=.*a)/i, '! '),`);
  assert.equal(changed.split('\n').filter((line, at) => line !== source.split('\n')[at]).length, 3);
  return folderWith(t, { 'county.ts': changed });
}

/** The use cases on an engine with real workers. */
async function clerk(engine: Engine, folder: string) {
  const { ledger, store, clock } = engine;
  const registry = await loadScrapers([SHIPPED, folder]);
  const catalog = openFileCatalog(registry);
  const parts = { ledger, store, clock, digest, catalog, faults: NO_FAULTS };
  const jobOf = async (jobId: string): Promise<JobRecord> => (await ledger.job(jobId)) ?? assert.fail(`no ${jobId}`);
  return {
    jobOf,
    begin: (from: string, request: object) => beginExtraction(parts, from, extractBody.parse(request)),
    replace: (jobId: string) => replaceResults(parts, jobId),
    async rows(jobId: string): Promise<ResultRow[]> {
      const items = currentItems(ledger, await jobOf(jobId));
      return await Array.fromAsync(resultRows({ ledger: items, store, pathOf: ({ key }) => key }, jobId));
    },
    async changes(jobId: string): Promise<ChangesAnswer> {
      const book = new ChangeBook({ ...parts, onError: (_, error) => assert.fail(String(error)) });
      for (;;) {
        const changes = await book.changesOf(await jobOf(jobId));
        if (changes?.state === 'complete') return changes;
        await setImmediate();
      }
    },
    verify: (jobId: string) => verifyJob({ store, digest }, jobId),
  };
}

async function requestsOf({ url }: County): Promise<number> {
  const stats = (await (await fetch(`${url}/__control/stats`)).json()) as { requests: number };
  return stats.requests;
}

function ownerOf({ data }: ResultRow): string {
  return (data as { owner: string }).owner;
}

test('a newer parse over stored pages: no request, the changes to see, and then its data for the old ones', async (t) => {
  const county = await startCounty({ parcels: PARCELS });
  const dataDir = tempDataDir();
  const folder = newerCounty(t);
  const settings = {
    dataDir,
    scrapers: [folder],
    allowAddresses: 'loopback',
    routes: `http://demo-county.test=${county.url}`,
  };
  await withEngine(settings, async (engine) => {
    const { begin, replace, rows, changes, verify, jobOf } = await clerk(engine, folder);
    const list = await (await fetch(`${county.url}/parcels.csv?limit=${PARCELS}`)).text();
    const apns = list.trim().split('\n').slice(1);
    const old = await submit(engine, {
      scraper_id: 'demo-county',
      items: apns.map((apn) => ({ item_id: apn, input: { apn, bill: false } })),
      execution_policy: { throttling: { max_concurrent_workers: 8 } },
    });
    assert.equal((await untilFinished(engine, old)).counts.success, PARCELS);
    const before = await rows(old);
    const affected = before.filter((row) => /a/i.test(ownerOf(row))).map(({ item_id: id }) => id);
    assert.ok(affected.length > 5 && affected.length < PARCELS, `${affected.length} owners with an A`);

    // From here on every request goes to another county in the same place.
    assert.ok((await requestsOf(county)) >= 3 * PARCELS);
    await county.close();
    const silent = await startCounty({ port: Number(new URL(county.url).port), parcels: PARCELS });
    t.after(() => silent.close());

    // One page is not where it was.
    const away = affected[0] ?? assert.fail();
    const page = join(dataDir, 'results', old, 'items', away.toLowerCase(), 'html.html.gz');
    assert.ok(existsSync(page), page);
    renameSync(page, `${page}.away`);

    const begun = await begin(old, { job_id: 'again', scraper_id: 'demo-county-again' });
    assert.ok(begun.kind === 'begun', JSON.stringify(begun));
    assert.deepEqual([begun.job.scraperVersion, begun.withoutPage], ['2.0.0', 0]);
    const first = await untilFinished(engine, 'again');
    assert.deepEqual([first.counts.success, first.counts.failed], [PARCELS - 1, 1]);
    const [lost] = (await engine.ledger.items('again', { status: 'failed', errorType: null }, FIRST)).entries;
    assert.deepEqual(
      [lost?.itemId, lost?.attempts[0]?.failure?.type, lost?.attempts[0]?.tries],
      [away, 'not_found', 1],
    );
    renameSync(`${page}.away`, page);
    const retry = { errorType: null, itemIds: null, groupKeys: null, preview: false };
    await engine.ledger.reopen('again', retry, FIRST, 0, engine.clock.now());
    assert.equal((await untilFinished(engine, 'again')).counts.success, PARCELS);

    const seen = await changes('again');
    assert.deepEqual(
      seen.fields.map(({ field, items, added, removed }) => [field, items, added, removed]),
      [['owner', affected.length, 0, 0]],
    );
    assert.deepEqual([seen.compared, seen.changed, seen.failed, seen.replaced], [PARCELS, affected.length, 0, false]);
    assert.ok(seen.fields[0]?.examples.every(({ item_id: id }) => affected.includes(id)));
    assert.deepEqual(await rows(old), before, 'until they are replaced, the old results stand');

    const { manifest } = await jobOf(old);
    assert.equal((await replace('again')).kind, 'replaced');
    const replaced = await untilFinished(engine, old);
    assert.notEqual(replaced.manifest?.metadataSha256, manifest?.metadataSha256);
    const after = await rows(old);
    assert.deepEqual(
      after,
      before.map((row) => {
        const owner = affected.includes(row.item_id) ? `! ${ownerOf(row)}` : ownerOf(row);
        return { ...row, data: { ...(row.data as object), owner } };
      }),
    );
    for (const jobId of [old, 'again']) {
      const report = await verify(jobId);
      assert.ok(report.kind === 'checked');
      assert.deepEqual([report.problems, report.counts.success], [[], PARCELS], jobId);
    }
    assert.equal(await requestsOf(silent), 0);
  });
});

const FIRST = { after: null, limit: 10 };
