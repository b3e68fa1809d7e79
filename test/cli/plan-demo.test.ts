import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startDemoCounty } from '../../src/cli/demo-county.ts';
import type { JobAnswer } from '../../src/contract/job-answers.ts';
import type { PlannedAnswer } from '../../src/contract/plan-answers.ts';
import { systemClock } from '../../src/main/client.ts';
import { sized } from '../support/sized.ts';
import { command, tempFolder } from './trawl.ts';

const PARCELS = sized({ quick: 150, slow: 2000 });

/** Another process may take the machine away at any moment, during the sample or during the job. */
const NOISE = sized({ quick: 20, slow: 5 });

test('a job on the demo county takes what its plan predicted', async (t) => {
  const folder = tempFolder();
  const county = await startDemoCounty(100_000, systemClock());
  t.after(() => county.close());
  const list = join(folder, 'parcels.csv');
  writeFileSync(list, await county.parcels(PARCELS));
  const env = {
    TRAWL_DATA_DIR: join(folder, 'data'),
    TRAWL_ALLOW_ADDRESSES: 'loopback',
    TRAWL_ROUTES: `http://demo-county.test=${county.url}`,
  };
  const run = async <Answer>(...words: readonly string[]): Promise<Answer> => {
    const { code, stdout, stderr } = await command(['run', 'demo-county', '--items', list, '--json', ...words], env);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };

  const { plan } = await run<PlannedAnswer>('--plan');
  assert.ok(plan?.forecast?.requests && plan.forecast.bytes);
  const { requests, bytes, duration_seconds: seconds } = plan.forecast;
  const before = await county.requests();
  const { usage, elapsed_seconds: took, summary } = await run<JobAnswer>();
  assert.equal(summary.success, PARCELS);

  const used = usage.bytes_up + usage.bytes_down;
  t.diagnostic(`requests ${usage.requests} in ${requests.low}–${requests.high}`);
  t.diagnostic(`bytes ${used} in ${bytes.low}–${bytes.high}`);
  t.diagnostic(`seconds ${took} in ${seconds.low}–${seconds.high}`);
  assert.equal(usage.requests, (await county.requests()) - before, 'what the site saw');
  assert.ok(requests.low <= usage.requests && usage.requests <= requests.high, `${usage.requests} requests`);
  assert.ok(bytes.low <= used && used <= bytes.high, `${used} bytes`);
  assert.ok(seconds.low / NOISE <= took && took <= seconds.high * NOISE, `${took} s`);
});
