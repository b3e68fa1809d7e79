import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { countsOf, createRun, itemsOf, newRun, urlsFrom } from '../contract/run-book-contract.ts';
import { NOW } from '../support/builders.ts';
import { dataDirOf, openIn } from './embedded-support.ts';

const EVERYTHING = { sortBy: 'createdAt', sortOrder: 'asc', offset: 0, limit: 10 } as const;

test('a killed process loses no report that was answered, and its drafts are swept by the next one', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir, { clock: systemClock() });
  const urls = urlsFrom(0, 500);
  const run = await createRun(first.runs, urls);
  const done = urls.slice(0, 450).map((url) => ({ url, changes: { done: true } }));
  await first.runs.update(run.id, done, NOW);
  const draft = await first.runs.draft();
  await draft.add(urls);
  first.crash();

  const { runs } = openIn(t, dataDir, { clock: systemClock() });
  assert.equal((await runs.list(EVERYTHING)).total, 1);
  assert.deepEqual(await countsOf(runs, run.id), { total: 500, completed: 450, failed: 0, invalid: 0, pending: 50 });
  const own = await runs.draft();
  await own.add(urls.slice(0, 3));
  await runs.sweep();
  await runs.sweep();
  const second = await own.commit(newRun(), NOW);
  assert.equal((await itemsOf(runs, second.id)).length, 3);
  assert.equal((await itemsOf(runs, run.id, 'pending')).length, 50);
  await runs.remove(run.id);
  assert.deepEqual(
    (await runs.list(EVERYTHING)).runs.map(({ id }) => id),
    [second.id],
  );
});

test('a removal that was interrupted is finished by the sweep of the next process', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir, { clock: systemClock() });
  const { id } = await createRun(first.runs, urlsFrom(0, 5000));
  void first.runs.remove(id);
  while ((await first.runs.run(id)) !== null) await setImmediate();
  first.crash();
  const second = openIn(t, dataDir, { clock: systemClock() });
  assert.equal(await second.runs.run(id), null);
  await second.runs.sweep();
  await second.close();
  const db = new DatabaseSync(join(dataDir, 'ledger.db'), { readOnly: true });
  t.after(() => db.close());
  for (const table of ['scrape_runs', 'run_items']) {
    assert.deepEqual({ ...db.prepare(`SELECT count(*) AS rows FROM ${table}`).get() }, { rows: 0 });
  }
});
