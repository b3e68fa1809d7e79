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

test('a key that is blank is none, and a hash that is none is refused', () => {
  for (const blank of ['', ' ', ',', ' , ']) assert.equal(loadConfig({}, { TRAWL_API_KEY: blank }).apiKey, null, blank);
  assert.equal(loadConfig({}, { TRAWL_API_KEY: ' a , b ' }).apiKey, 'a,b');
  for (const bad of ['sha256:abc', 'good,sha256:', `sha256:${'g'.repeat(64)}`]) {
    assert.throws(() => loadConfig({}, { TRAWL_READ_API_KEY: bad }), /TRAWL_READ_API_KEY: after sha256:/);
  }
});

test('an address with a password in it is refused, and not repeated', () => {
  assert.throws(
    () => loadConfig({}, { TRAWL_URL: 'http://user:secret@127.0.0.1:8080' }),
    (error) =>
      error instanceof ConfigError &&
      /TRAWL_URL: must have no name/.test(error.message) &&
      !/secret/.test(error.message),
  );
});
