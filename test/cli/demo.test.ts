import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findBrowser } from '../../src/cli/demo.ts';
import { loadConfig } from '../../src/config.ts';
import { testChromium } from '../support/chromium.ts';
import { tempFolder, trawl } from './trawl.ts';

test('trawl demo shows a job that is done, a breaker that trips with its evidence, the resume, and a site that needs a browser', async () => {
  const { path } = await testChromium();
  const dataDir = tempFolder();
  const { code, stdout, stderr } = await trawl(['demo', '--parcels', '40', '--workers', '1'], {
    TRAWL_DATA_DIR: dataDir,
    TRAWL_CHROMIUM: path,
  });
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  assert.match(stdout, /^40 parcels in .*; \d{3} requests\.$/m);
  assert.match(stdout, /owner +\S+/);
  assert.match(stdout, /Job demo-county \(completed\): 40 success of 40/);
  assert.match(stdout, /The circuit breaker stopped the job: \d+ failures in a row/);
  assert.match(stdout, /× blocked: Cloudflare asks for a challenge/);
  assert.match(stdout, /Job demo-county \(completed\): 150 success of 150/);
  assert.ok(existsSync(join(dataDir, 'demo', 'blocked', 'results.jsonl')));
  assert.match(stdout, /^12 parcels with their bills, in/m);
  assert.match(stdout, /Job demo-county-browser \(completed\): 12 success of 12/);
  assert.equal(stdout.match(/All is well: every item is listed once/g)?.length, 3);
});

test('on a machine without a browser, the demo says what it skips, and how to see it', async () => {
  const told: string[] = [];
  const config = loadConfig({ chromium: '/nowhere/chromium' }, {});
  assert.equal(await findBrowser(config, (text) => told.push(text)), null);
  assert.match(
    told.join('\n'),
    /No Chromium was found on this machine;\nto see it, run trawl browser install, and the demo again\./,
  );
});
