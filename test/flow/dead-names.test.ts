import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Engine } from '../../src/main/engine.ts';
import { startDns } from '../egress/dns-server.ts';
import { good, openHostileServer } from '../egress/hostile-server.ts';
import { itemsOf, submit, tempDataDir, untilFinished, withEngine } from './engine.ts';

const HTML = 'Content-Type: text/html\r\n';

test('a job whose forty names get no answer from DNS fails alone, as timeout, and a healthy job beside it loses no item', async () => {
  await using dns = await startDns('127.0.0.1');
  dns.answerWith((name) => (name.endsWith('.dead.test') ? 'silence' : ['127.0.0.1']));
  const server = await openHostileServer({ answer: (line) => line.say(good('<title>a page</title>', HTML)) });
  const config = {
    dataDir: tempDataDir(),
    workers: 1,
    slots: 100,
    allowAddresses: 'loopback',
    dnsServers: dns.address,
  };
  try {
    await withEngine(config, async (engine) => {
      const dead = await begin(engine, 'dead.test', server.port);
      const healthy = await begin(engine, 'good.test', server.port);
      const { counts } = await untilFinished(engine, healthy);
      assert.equal(counts.success, 40, JSON.stringify(counts));
      assert.equal((await engine.ledger.job(dead))?.counts.failed, 0, 'the healthy job waited for the names that hang');
      await untilFinished(engine, dead);
      const { entries } = await engine.ledger.items(
        dead,
        { status: null, errorType: null },
        { after: null, limit: 100 },
      );
      const ends = entries.map(({ status, attempts }) => `${status} ${attempts.at(-1)?.failure?.type}`);
      assert.deepEqual([...new Set(ends)], ['failed timeout']);
    });
  } finally {
    await server.close();
  }
});

function begin(engine: Engine, domain: string, port: number): Promise<string> {
  return submit(engine, {
    scraper_id: 'example-http',
    items: itemsOf(40, (index) => ({ url: `http://host-${index}.${domain}:${port}/` })),
    execution_policy: {
      throttling: { max_concurrent_workers: 40, adaptive: false },
      retries: { max_retries: 0 },
      timeouts: { connect_timeout_seconds: 10 },
      circuit_breaker: { min_requests: 1000, consecutive_failures: 1000 },
    },
  });
}
