import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { ConfigError, loadConfig, toEnvironment } from '../src/config.ts';

test('without settings there are defaults, and the data directory is an absolute path', () => {
  const config = loadConfig({}, {});
  assert.equal(config.dataDir, resolve('.trawl'));
  assert.equal(config.leaseMs, 4000);
  assert.deepEqual(config.scrapers, [resolve('scrapers')]);
});

test('what is given by hand outranks the environment, and the environment the defaults', () => {
  const config = loadConfig({ workers: 5 }, { TRAWL_WORKERS: '3', TRAWL_SLOTS: '7' });
  assert.deepEqual([config.workers, config.slots], [5, 7]);
});

test('a setting that cannot be used is named, with all others that cannot', () => {
  const bad = { TRAWL_WORKERS: '0', TRAWL_LOG_LEVEL: 'loud' };
  assert.throws(
    () => loadConfig({}, bad),
    (error) =>
      error instanceof ConfigError && /TRAWL_WORKERS/.test(error.message) && /TRAWL_LOG_LEVEL/.test(error.message),
  );
});

test('a worker process comes to the same settings as the process that starts it', () => {
  const config = loadConfig({ dataDir: '/somewhere', scrapers: ['/a', '/b'], leaseMs: 1234 }, {});
  assert.deepEqual(loadConfig({}, toEnvironment(config, {})), config);
});
