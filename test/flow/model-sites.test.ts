import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { FailureType } from '../../src/domain/failure.ts';
import type { Engine } from '../../src/main/engine.ts';
import * as listing from '../models/listing-site.ts';
import * as tokens from '../models/token-api.ts';
import { folderWith } from '../scraping/scraper-folder.ts';
import { sized } from '../support/sized.ts';
import { itemsOf, submit, tempDataDir, untilFinished, withEngine } from './engine.ts';

/** Each time other requests are refused. */
const SEEDS = sized({ quick: ['one'], slow: ['one', 'two', 'three'] });
const ITEMS = sized({ quick: 60, slow: 1000 });

/** What fails for good is tried again soon; a 503 is repeated inside its session, whatever this says. */
const POLICY = {
  throttling: { max_concurrent_workers: 8, adaptive: false },
  retries: { max_retries: 3, backoff_factor: 0.01 },
  circuit_breaker: { min_requests: 100_000 },
};

const settings = (dataDir: string, routes: string) => ({
  ...{ dataDir, routes, allowAddresses: 'loopback' },
  scrapers: [fileURLToPath(new URL('../models/scrapers', import.meta.url))],
});

interface Expected {
  failure(number: number): FailureType | null;
  data(number: number): unknown;
}

async function checkItems(engine: Engine, jobId: string, expected: Expected): Promise<void> {
  for (let number = 0; number < ITEMS; number += 1) {
    const item = await engine.ledger.item(jobId, `item-${number}`);
    const last = item?.attempts.at(-1);
    const failure = expected.failure(number);
    assert.equal(last?.failure?.type ?? null, failure, `item ${number}: ${last?.failure?.message}`);
    if (failure !== null) continue;
    const data = item?.artifacts.find(({ kind }) => kind === 'data');
    assert.ok(data, `item ${number} has no data`);
    const bytes = await engine.store.get(data);
    assert.deepEqual(JSON.parse(Buffer.from(bytes ?? []).toString()), expected.data(number), `item ${number}`);
  }
}

test('a JSON API with tokens and a rate limit: every field and every failure is right, with 1 % of 503s', async (t) => {
  const secretsFile = join(folderWith(t, { secrets: `model_key=${tokens.API_KEY}` }), 'secrets');
  chmodSync(secretsFile, 0o600);
  let refused = 0;
  for (const seed of SEEDS) {
    const api = await tokens.startTokenApi(seed);
    t.after(() => api.close());
    const dataDir = tempDataDir();
    const config = { ...settings(dataDir, `http://token-api.test=${api.origin}`), secretsFile };
    await withEngine(config, async (engine) => {
      const items = itemsOf(ITEMS, (number) => ({ apn: `P-${number}` }));
      const request = { job_id: seed, scraper_id: 'model-token-api', items, execution_policy: POLICY };
      await untilFinished(engine, await submit(engine, request));
      await checkItems(engine, seed, { failure: tokens.expectedFailure, data: tokens.parcelOf });
    });
    refused += api.refused();
    assert.ok(api.expired() > 0 && api.limited() > 0, 'tokens expired, and the rate was limited');
    // A token is requested when one has expired, at most once by each process.
    const least = Math.floor((api.requests() - api.expired() - api.refused()) / 25);
    assert.ok(api.tokens() >= least / 2 && api.tokens() <= 2 * least + 8, `${api.tokens()} tokens, ${least} used up`);
  }
  assert.ok(refused > 0, 'some requests were refused');
});

test('a listing with details: every field and every failure is right, with 1 % of 503s', async (t) => {
  let refused = 0;
  for (const seed of SEEDS) {
    const site = await listing.startListingSite(seed);
    t.after(() => site.close());
    const config = settings(tempDataDir(), `http://listing.test=${site.origin}`);
    await withEngine(config, async (engine) => {
      const items = itemsOf(ITEMS, (district) => ({ district }));
      const request = { job_id: seed, scraper_id: 'model-listing', items, execution_policy: POLICY };
      await untilFinished(engine, await submit(engine, request));
      const data = (district: number) => ({ parcels: listing.detailsOf(district) });
      await checkItems(engine, seed, { failure: listing.expectedFailure, data });
    });
    refused += site.refused();
  }
  assert.ok(refused > 0, 'some requests were refused');
});
