import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Config } from '../../src/config.ts';
import type { Engine } from '../../src/main/engine.ts';
import { byAddress, CERTIFICATE, type ModelTarget, openProxy, PASSWORD, startTarget } from '../egress/proxy-support.ts';
import { type ModelProxy, refusal } from '../models/proxy-server.ts';
import { PROXY_TABLE, type ProxyRow } from '../models/proxy-table.ts';
import { itemsOf, submit, tempDataDir, untilFinished, untilJob, withEngine } from './engine.ts';

/** Proxies as worker processes use them, from the policy of a job to what becomes of it. */
function settingsFor(t: TestContext, { port }: ModelProxy): Partial<Config> {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-proxies-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const proxyCaFile = join(folder, 'ca.pem');
  writeFileSync(proxyCaFile, CERTIFICATE.cert);
  return {
    ...{ dataDir: tempDataDir(), workers: 1, allowAddresses: 'loopback', proxyCaFile },
    ...{ proxyUrl: `127.0.0.1:${port}`, proxyCustomer: 'hl_1234' },
    ...{ proxyDatacenterZone: 'dc', proxyDatacenterPassword: PASSWORD },
    ...{ proxyResidentialZone: 'homes', proxyResidentialPassword: PASSWORD },
  };
}

interface Asked {
  readonly items: number;
  readonly proxy: object;
}

async function startJob(engine: Engine, url: string, { items, proxy }: Asked): Promise<string> {
  return submit(engine, {
    scraper_id: 'example-http',
    items: itemsOf(items, (item) => ({ url: `${url}${item}` })),
    execution_policy: {
      proxy,
      throttling: { max_concurrent_workers: 1, adaptive: false },
      retries: { backoff_factor: 0, max_backoff_seconds: 0 },
    },
  });
}

test('each answer of the table has its consequence, for http and https', async (t) => {
  const [target, proxy] = [await startTarget(t), await openProxy(t)];
  await withEngine(settingsFor(t, proxy), async (engine) => {
    for (const row of PROXY_TABLE) {
      for (const scheme of ['http', 'https'] as const) {
        await t.test(`${row.status} ${row.code}, ${scheme}`, async () => {
          await (row.type === 'proxy_config' ? stopsTheJob : isTriedAgain)(engine, { target, proxy, row, scheme });
        });
      }
    }
  });
});

interface Case {
  readonly target: ModelTarget;
  readonly proxy: ModelProxy;
  readonly row: ProxyRow;
  readonly scheme: 'http' | 'https';
}

async function stopsTheJob(engine: Engine, { target, proxy, row, scheme }: Case): Promise<void> {
  proxy.answer = () => refusal(row.status, row.code);
  const before = proxy.asked.length;
  const jobId = await startJob(engine, byAddress(target[scheme]), { items: 20, proxy: { type: 'residential' } });
  const { reason, counts } = await untilJob(engine, jobId, ({ status }) => status === 'failed');
  assert.equal(proxy.asked.length - before, 1, 'a retry burns money');
  assert.deepEqual([counts.failed, counts.success], [1, 0]);
  const [evidence] = reason?.evidence ?? [];
  assert.equal(evidence?.type, 'proxy_config');
  const message = reason?.message ?? '';
  assert.ok(message.startsWith(`proxy_config: the proxy answered ${row.status} (${row.code}): `), message);
  assert.match(message, /(then resume the job|then resume it)$/, 'the remedy');
  const { attempts = [] } = (await engine.ledger.item(jobId, 'item-0')) ?? {};
  const said = JSON.stringify(attempts);
  assert.ok(said.includes(`the proxy answered ${row.status} (${row.code})`), said);
}

async function isTriedAgain(engine: Engine, { target, proxy, row, scheme }: Case): Promise<void> {
  const before = proxy.asked.length;
  proxy.answer = () => (proxy.asked.length === before + 1 ? refusal(row.status, row.code) : null);
  const jobId = await startJob(engine, byAddress(target[scheme]), { items: 1, proxy: { type: 'residential' } });
  const { counts, status } = await untilFinished(engine, jobId);
  assert.deepEqual([counts.success, status], [1, 'completed']);
  const [first, second, ...more] = proxy.asked.slice(before).map(({ user }) => user);
  assert.equal(more.length, 0);
  assert.equal(first === second, row.type !== 'proxy_error', 'only a failed exit is left for another one');
}

test('a blocked item climbs to the next proxy, and the job starts there when most items did', async (t) => {
  const target = await startTarget(t, ({ headers }, response) => {
    const isDirect = headers.via === undefined;
    response.writeHead(isDirect ? 403 : 200, { 'content-type': 'text/html' }).end('<h1>page</h1>');
  });
  const proxy = await openProxy(t);
  await withEngine(settingsFor(t, proxy), async (engine) => {
    const ladder = { escalate: ['none', 'datacenter', 'residential'] };
    const jobId = await startJob(engine, byAddress(target.http), { items: 30, proxy: ladder });
    const { counts } = await untilFinished(engine, jobId);
    assert.equal(counts.success, 30);
    assert.equal(target.asked.filter(({ headers }) => headers.via === undefined).length, 10);
    assert.equal(proxy.asked.length, 30);
    for (const { user } of proxy.asked) assert.match(user ?? '', /^brd-customer-hl_1234-zone-dc-session-/);
    assert.equal(new Set(proxy.asked.map(({ user }) => user)).size, 30, 'one session per item');
  });
});

test('a job that asks for a proxy without its settings stops at its first item, and nothing is sent', async (t) => {
  const [target, proxy] = [await startTarget(t), await openProxy(t)];
  await withEngine(settingsFor(t, proxy), async (engine) => {
    const jobId = await startJob(engine, byAddress(target.http), { items: 20, proxy: { type: 'web_unlocker' } });
    const { reason } = await untilJob(engine, jobId, ({ status }) => status === 'failed');
    assert.match(JSON.stringify(reason), /PROXY_WEB_UNLOCKER_ZONE, PROXY_WEB_UNLOCKER_PASSWORD are not set/);
    assert.deepEqual([target.asked.length, proxy.asked.length], [0, 0]);
  });
});
