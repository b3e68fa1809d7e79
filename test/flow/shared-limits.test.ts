import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { numOf } from '../../src/adapters/aws/dynamo/attributes.ts';
import { Table } from '../../src/adapters/aws/dynamo/table.ts';
import { lineKey } from '../../src/adapters/aws/ledger/keys.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { hostLine } from '../../src/domain/line-name.ts';
import { SHARE_LEASE_MS } from '../../src/main/aws-backend.ts';
import { command, tempFolder } from '../cli/trawl.ts';
import { startEmulators } from '../support/aws/emulators.ts';
import { awsEnvironment, awsNames } from '../support/aws/names.ts';
import { sized } from '../support/sized.ts';
import { openCountingSite, playTwoJobs, type Traffic } from './host-traffic.ts';

/** Slow enough for a busy machine: worker processes and emulators share it with other tests. */
const PER_SECOND = 20;
const CALM_MS = sized({ quick: 4000, slow: 20_000 });
/** Other tests take the machine away for seconds; then what was reserved passes unused. */
const LEAST_USE = sized({ quick: 0.4, slow: 0.85 });
/** In a few seconds a host sees some 150 requests of both, and a pause of one process is a tenth of them. */
const SHARE_SPREAD = sized({ quick: 0.1, slow: 0.05 });
/** One is killed, and one comes. What the dead one had comes back after two leases: of fewer workers that is too much. */
const WORKERS = sized({ quick: 3, slow: 4 });
/** A machine that is busy with other tests notices a change later than it is sent. */
const LATE = sized({ quick: 5, slow: 1 });
const COMMON = { TRAWL_ALLOW_ADDRESSES: 'loopback', TRAWL_SLOTS: '8', TRAWL_LOG_TO: 'stderr' };

/** Two requests may fall on either side of the ten seconds; the rest is 5 %. */
function checkTraffic({ busiest, perSecond, share }: Traffic): void {
  assert.ok(busiest <= PER_SECOND * 10 * 1.05 + 2, `${busiest} requests in ten seconds`);
  for (const rate of perSecond) assert.ok(rate >= PER_SECOND * LEAST_USE, `${rate} requests per second`);
  assert.ok(Math.abs(share - 0.5) <= SHARE_SPREAD, `${share} of the requests were of one of two jobs`);
}

/** Requests that were on their way when the worker heard of the change arrive a little later. */
function checkChanges({ policyMs, pauseMs }: Traffic, mostMs: number): void {
  assert.ok(policyMs <= mostMs * LATE + 200, `a policy took effect after ${policyMs} ms`);
  assert.ok(pauseMs <= mostMs * LATE + 200, `a pause of the host took effect after ${pauseMs} ms`);
}

test('two jobs and several workers keep the rate of a host and share it, although one is killed and one comes', async (t) => {
  const site = await openCountingSite(50);
  const env = { ...COMMON, TRAWL_DATA_DIR: join(tempFolder(), 'data') };
  try {
    const traffic = await playTwoJobs(env, site, {
      workers: WORKERS,
      perSecond: PER_SECOND,
      calmMs: CALM_MS,
      settleMs: 2000,
      heardMs: 1000,
    });
    t.diagnostic(JSON.stringify(traffic));
    checkTraffic(traffic);
    checkChanges(traffic, 1000);
  } finally {
    await site.close();
  }
});

test('the same on AWS, by workers each of which writes at most once per lease', async (t) => {
  const emulators = await startEmulators();
  const site = await openCountingSite(50);
  const { tableName, bucket, queueUrls } = awsNames(emulators, `shares-${process.pid}`);
  const env = {
    ...COMMON,
    ...awsEnvironment(emulators),
    TRAWL_BACKEND: 'aws',
    TABLE_NAME: tableName,
    WEB_SCRAPER_QUEUE_URL: queueUrls.http,
    WEB_SCRAPER_RESULTS_BUCKET: bucket,
  };
  const clients = emulators.clients();
  try {
    const created = await command(['doctor', '--create'], { ...env, TRAWL_DATA_DIR: join(tempFolder(), 'unused') });
    assert.equal(created.code, 0, created.stdout + created.stderr);
    const traffic = await playTwoJobs(env, site, {
      workers: WORKERS,
      perSecond: PER_SECOND,
      calmMs: CALM_MS,
      settleMs: 7000,
      heardMs: 5000,
    });
    const row = await new Table(clients.dynamo, tableName, systemClock()).get(lineKey(hostLine(site.host)));
    assert.ok(row);
    const writes = numOf(row, 'version');
    t.diagnostic(JSON.stringify({ ...traffic, writes }));
    checkTraffic(traffic);
    checkChanges(traffic, 5000);
    // Each process asks sooner a few times while its demand grows.
    const leases = 1 + (traffic.seconds * 1000) / SHARE_LEASE_MS;
    assert.ok(writes <= (WORKERS + 1) * (leases + 4), `${writes} writes in ${leases} leases`);
  } finally {
    clients.close();
    await site.close();
    await emulators.stop();
  }
});
