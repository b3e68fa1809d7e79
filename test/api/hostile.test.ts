import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServe } from '../../bench/api/service.ts';
import { sized } from '../support/sized.ts';
import { assault } from './hostile/assault.ts';

/** `npm run hostile -- --requests 50000` takes its time; these are the first of them. */
const REQUESTS = sized({ quick: 400, slow: 1500 });

test('hostile requests over every operation and state: no 5xx, no crash, nothing undocumented, no file elsewhere', async () => {
  const surroundings = mkdtempSync(join(tmpdir(), 'trawl-hostile-'));
  const service = await startServe(join(surroundings, 'data'), { workers: 1, slots: 64 });
  try {
    const { operations, of, statuses } = await assault({ url: service.url, requests: REQUESTS, seed: 1, surroundings });
    assert.equal(operations, of, 'every operation was answered');
    assert.ok((statuses['200'] ?? 0) > REQUESTS / 5, `few got far enough to matter: ${JSON.stringify(statuses)}`);
    assert.deepEqual(service.errors, []);
  } finally {
    await service.stop();
    rmSync(surroundings, { recursive: true, force: true });
  }
});
