import assert from 'node:assert/strict';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { verifyJob } from '../../src/controller/results/verify.ts';
import { digest } from '../../src/main/digest.ts';
import { itemsOf, submit, tempDataDir, untilFinished, untilJob, withEngine } from './engine.ts';

const SCRAPERS = fileURLToPath(new URL('scrapers', import.meta.url));
const ITEMS = 300;

/** As docs/operations.md has it: one state of the ledger, read while the service goes on. */
function backUp(ledger: string, to: string): void {
  const database = new DatabaseSync(ledger, { readOnly: true });
  database.exec(`VACUUM INTO '${to}'`);
  database.close();
}

test('a ledger restored from a backup does again what came after it, beside the pages that are there already', async () => {
  const dataDir = tempDataDir();
  const backup = join(tempDataDir(), 'ledger.db');
  const ledgerFile = join(dataDir, 'ledger.db');
  const config = { dataDir, workers: 1, scrapers: [SCRAPERS] };

  const jobId = await withEngine(config, async (engine) => {
    const id = await submit(engine, {
      job_id: 'county',
      scraper_id: 'changing-page',
      items: itemsOf(ITEMS),
      execution_policy: { throttling: { max_concurrent_workers: 8 } },
    });
    await untilJob(engine, id, ({ counts }) => counts.success >= 20);
    backUp(ledgerFile, backup);
    await untilFinished(engine, id);
    return id;
  });
  copyFileSync(backup, ledgerFile);
  for (const left of ['-wal', '-shm']) rmSync(ledgerFile + left, { force: true });

  await withEngine(config, async (engine) => {
    const lost: unknown[] = [];
    engine.events.subscribe((event) => {
      if (event.kind === 'returned' && event.because !== 'recalled') lost.push(event);
    });
    const job = await untilFinished(engine, jobId);
    assert.equal(job.counts.success, ITEMS);
    assert.deepEqual(lost, [], 'no batch came back undone');
    const { ledger, store } = engine;
    let after: string | null = null;
    let apart = 0;
    do {
      const page = await ledger.items(jobId, { status: null, errorType: null }, { after, limit: 100 });
      for (const { itemId, strikes, artifacts } of page.entries) {
        assert.equal(strikes, 0, itemId);
        const folders = new Set(artifacts.map(({ key }) => key.slice(0, key.lastIndexOf('/'))));
        assert.equal(folders.size, 1, `${itemId} lies in ${[...folders]}`);
        if ([...folders].some((folder) => folder.includes('/attempt-1-'))) apart += 1;
      }
      after = page.next;
    } while (after !== null);
    assert.ok(apart > 0, 'some pages were there already');
    const report = await verifyJob({ store, digest }, jobId);
    assert.ok(report.kind === 'checked');
    assert.deepEqual(report.problems, []);
    // Each has its page, data and metadata.
    assert.equal(report.checked.artifacts, 3 * ITEMS);
  });
});
