import assert from 'node:assert/strict';
import { lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { apiSocketPath } from '../../src/adapters/embedded/socket/socket-path.ts';
import { loadConfig } from '../../src/config.ts';
import { ApiClient } from '../../src/contract/client/api-client.ts';
import type { AddedAnswer } from '../../src/contract/item-answers.ts';
import type { CreatedAnswer } from '../../src/contract/job-answers.ts';
import { openPrivateService } from '../../src/main/private-service.ts';

async function* endlessItems(): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; at += 1) yield Buffer.from(`{"apn":"${at}"}\n`.repeat(100));
}

test('a private service answers on a socket of its user, also for a long path, and takes it along', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-private-'));
  const dataDir = join(folder, 'd'.repeat(100));
  const config = loadConfig({ dataDir, workers: 1, logLevel: 'silent', apiKey: 'secret' }, {});
  const service = await openPrivateService(config, { lane: 'http', onDeath: () => {}, isWanted: () => true });
  const socketPath = apiSocketPath(dataDir);
  try {
    assert.equal(lstatSync(socketPath).mode & 0o777, 0o600);
    const { clock, address } = service;
    const api = new ApiClient({ ...address, clock, signal: new AbortController().signal });
    const job = { job_id: 'a/b', scraper_id: 'example-mock', hold: true };
    assert.deepEqual((await api.post<CreatedAnswer>('/jobs', job)).warnings, []);
    // The answer comes while items are still being sent.
    const { received, added } = await api.json<AddedAnswer>({
      method: 'POST',
      path: '/jobs/a%2Fb/items',
      query: { limit: 3 },
      headers: { 'content-type': 'application/x-ndjson' },
      stream: endlessItems(),
    });
    assert.deepEqual([received, added], [3, 1]);
    for (const path of ['/metrics', '/openapi.json', '/docs', '/jobs/none']) {
      await assert.rejects(api.get(path), { name: 'Refused', status: 404 });
    }
  } finally {
    await service.stop();
  }
  assert.throws(() => lstatSync(socketPath), { code: 'ENOENT' });
  rmSync(dirname(socketPath), { recursive: true });
  rmSync(folder, { recursive: true });
});
