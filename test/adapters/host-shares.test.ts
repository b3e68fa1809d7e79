import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openEmbeddedLedger } from '../../src/adapters/embedded/ledger.ts';
import { NO_LIMITS } from '../../src/domain/line-limits.ts';
import { NOW } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

test('the next owner of the ledger knows what is reserved, and when a slow host was visited last', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-shares-'));
  t.after(() => rmSync(dataDir, { recursive: true }));
  const open = () => openEmbeddedLedger({ dataDir, clock: new FakeClock(), sync: async () => {} });
  const ask = {
    line: 'host slow.gov',
    limits: { ...NO_LIMITS, minDelayMs: 60_000, maxConcurrent: 4 },
    leaseMs: 1000,
    inside: 0,
    demands: [{ job: 'j1', weight: 1, places: 9, perSecond: 9 }],
    news: null,
  };
  const before = open();
  const [first] = await before.hostShares.reserve('w1', [ask], NOW);
  assert.equal(first?.places, 4);
  assert.equal(first?.slots.length, 1);
  await before.close();

  const after = open();
  const [second] = await after.hostShares.reserve('w2', [ask], NOW + 500);
  assert.equal(second?.places, 0);
  for (const slot of second?.slots ?? []) assert.ok(slot >= 60_000 - 500, `a slot after ${slot} ms`);
  await after.close();
});
