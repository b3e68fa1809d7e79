import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Config } from '../../src/config.ts';
import { isRefusal } from '../../src/domain/job.ts';
import { costOf } from '../../src/domain/prices.ts';
import { totalUsage } from '../../src/domain/usage.ts';
import { byAddress, CERTIFICATE, openProxy, PASSWORD, startTarget } from '../egress/proxy-support.ts';
import type { ModelProxy } from '../models/proxy-server.ts';
import { itemsOf, submit, tempDataDir, untilFinished, untilJob, withEngine } from './engine.ts';

/** What jobs use, with worker processes, held against what the site and the proxy saw. */
function settingsFor(t: TestContext, { port }: Pick<ModelProxy, 'port'>): Partial<Config> {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-usage-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const proxyCaFile = join(folder, 'ca.pem');
  writeFileSync(proxyCaFile, CERTIFICATE.cert);
  return {
    ...{ dataDir: tempDataDir(), workers: 2, allowAddresses: 'loopback', proxyCaFile },
    ...{ proxyUrl: `127.0.0.1:${port}`, proxyCustomer: 'hl_1234', pricePerGbResidential: 8.4 },
    ...{ proxyResidentialZone: 'homes', proxyResidentialPassword: PASSWORD },
  };
}

const PAGE = `<html>${'<p>a parcel of the county</p>'.repeat(500)}</html>`;

function jobFor(url: string, items: number, policy: object) {
  return {
    scraper_id: 'example-http',
    items: itemsOf(items, (item) => ({ url: `${url}${item}` })),
    execution_policy: { throttling: { max_concurrent_workers: 2, adaptive: false }, ...policy },
  };
}

for (const scheme of ['http', 'https'] as const) {
  test(`a job through a proxy to ${scheme} has used what the proxy saw, and each item its share`, async (t) => {
    let refusals = 0;
    const target = await startTarget(t, (request, response) => {
      // One answer that is repeated, and one redirect.
      if (request.url === '/3' && refusals === 0) {
        refusals += 1;
        response.writeHead(429, { 'retry-after': '0' }).end();
      } else if (request.url === '/5') response.writeHead(302, { location: '/elsewhere' }).end();
      else response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
    });
    const proxy = await openProxy(t);
    await withEngine(settingsFor(t, proxy), async (engine) => {
      const url = byAddress(target[scheme]);
      const jobId = await submit(engine, jobFor(url, 12, { proxy: { type: 'residential' } }));
      const { counts, usage, prices = {} } = await untilFinished(engine, jobId);
      const seen = proxy.bytes();
      assert.equal(counts.success, 12);
      const { requests, bytesUp, bytesDown, proxyBytes, refused } = totalUsage(usage);
      assert.equal(requests, target.asked.length);
      assert.equal(requests, 14);
      assert.equal(refused, 1);
      assert.deepEqual(
        usage.map(({ host, proxy: kind }) => [host, kind]),
        [[new URL(url).host, 'residential']],
      );
      // The end of a TLS connection comes after its last answer, and is not counted for any item.
      const slack = scheme === 'http' ? 0 : 100 * 12;
      for (const [ours, theirs] of [
        [bytesUp, seen.up],
        [bytesDown, seen.down],
      ] as const) {
        assert.ok(theirs - ours >= 0 && theirs - ours <= slack, `${ours} bytes counted, ${theirs} seen`);
      }
      assert.ok(bytesDown > 12 * PAGE.length);
      assert.equal(costOf(usage, prices), Number(((proxyBytes / 1e9) * 8.4).toPrecision(12)));
      const { entries } = await engine.ledger.items(
        jobId,
        { status: null, errorType: null },
        { after: null, limit: 100 },
      );
      const ofItems = entries.map(({ attempts }) => attempts.at(-1)?.usage ?? [0, 0, 0]);
      for (const [at, total] of [requests, bytesUp, bytesDown].entries()) {
        assert.equal(
          ofItems.reduce((sum, used) => sum + (used[at] ?? 0), 0),
          total,
        );
      }
    });
  });
}

test('a job stops at its budget, and goes on to its end when that is raised', async (t) => {
  const target = await startTarget(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
  });
  await withEngine(settingsFor(t, { port: 1 }), async (engine) => {
    const asked = jobFor(byAddress(target.http), 30, { budget: { max_requests: 10 } });
    const jobId = await submit(engine, asked);
    const paused = await untilJob(
      engine,
      jobId,
      ({ status, itemsInFlight }) => status === 'paused' && itemsInFlight === 0,
    );
    assert.equal(paused.reason?.code, 'budget');
    assert.match(
      paused.reason?.message ?? '',
      /^the budget is used up: \d+ of 10 requests; raise budget\.max_requests/,
    );
    const { requests } = totalUsage(paused.usage);
    assert.equal(target.asked.length, requests);
    assert.ok(requests >= 10 && requests <= 12, `${requests} requests: two items were in flight at most`);

    const refused = await engine.ledger.changeJob(jobId, { kind: 'resume' }, engine.clock.now());
    assert.ok(refused !== 'missing' && isRefusal(refused), 'nothing was raised');
    const policy = { ...paused.policy, budget: { ...paused.policy.budget, max_requests: 1000 } };
    await engine.ledger.changeJob(jobId, { kind: 'policy', policy }, engine.clock.now());
    await engine.ledger.changeJob(jobId, { kind: 'resume' }, engine.clock.now());
    const { counts, usage } = await untilFinished(engine, jobId);
    assert.equal(counts.success, 30);
    assert.equal(totalUsage(usage).requests, 30);
    assert.equal(target.asked.length, 30);
  });
});

test('max_cost is refused where the price of the proxy is not known', async (t) => {
  await withEngine({ ...settingsFor(t, { port: 1 }), workers: 1 }, async (engine) => {
    const policy = { proxy: { type: 'datacenter' }, budget: { max_cost: 5 } };
    const answer = await engine.submit(jobFor('http://127.0.0.1:1/', 1, policy));
    assert.equal(answer.kind, 'bad');
    const [problem] = answer.kind === 'bad' ? answer.problems : [];
    assert.equal(problem?.path, 'execution_policy.budget.max_cost');
    assert.match(problem?.message ?? '', /set PRICE_PER_GB_DATACENTER/);
  });
});
