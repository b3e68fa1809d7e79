import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { givenJob, itemOf, jobOf, takeOne } from '../contract/ledger/hands.ts';
import { NOW, settlement } from '../support/builders.ts';
import { dataDirOf, openIn } from './embedded-support.ts';

test('an ordinary success costs no detail; only what differs from the job is written, and outlives a restart', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 3, policy: { throttling: { max_concurrent_workers: 1 } } });
  const { scraperVersion } = await jobOf(first.ledger, jobId);
  const lease = await takeOne(first.ledger, jobId, { perBatch: 3 });
  const ran = [{ scraperVersion }, {}, { scraperVersion: '9.0.0' }];
  const items = lease.items.map((item) => ({ ...settlement(item), ...ran[item.seq] }));
  assert.deepEqual(await first.ledger.settle([{ token: lease.token, jobId, items }], NOW), ['recorded']);
  await first.close();

  const file = new DatabaseSync(join(dataDir, 'ledger.db'), { readOnly: true });
  const details = file.prepare('SELECT detail FROM outcomes ORDER BY key').all();
  file.close();
  assert.deepEqual(
    details.map(({ detail }) => detail),
    [null, null, '{"scraperVersion":"9.0.0"}'],
  );
  const { ledger } = openIn(t, dataDir);
  assert.equal((await itemOf(ledger, jobId, 'p-2')).attempts[0]?.scraperVersion, '9.0.0');
});
