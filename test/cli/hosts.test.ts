import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { startService } from '../api/service.ts';
import { untilTrue } from '../support/until.ts';
import { command, trawl } from './trawl.ts';

test('a host that asked to be left alone is listed, shown and released', async (t) => {
  const site = createServer((_, response) => response.writeHead(429, { 'retry-after': '120' }).end());
  await once(site.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    site.closeAllConnections();
    site.close();
  });
  const host = `127.0.0.1:${(site.address() as AddressInfo).port}`;
  const { url, engine } = await startService({ allowAddresses: 'loopback' });
  const hosts = (...words: readonly string[]) => command(['hosts', ...words], { TRAWL_URL: url });

  const none = await trawl(['hosts', 'list'], { TRAWL_URL: url });
  assert.deepEqual([none.stdout, none.stderr, none.code], ['', 'No hosts are paused.\n', EXIT.done]);
  assert.equal((await hosts('show', host)).stdout, `${host} is not paused.\n`);

  await engine.submit({
    scraper_id: 'example-http',
    items: [{ input: { url: `http://${host}/` } }],
    execution_policy: { retries: { max_retries: 0 } },
  });
  let paused: { host: string; paused_until: string; reported_by: number } | undefined;
  await untilTrue(async () => {
    [paused] = JSON.parse((await hosts('list', '--json')).stdout).hosts;
    return paused !== undefined;
  });
  assert.ok(paused);
  assert.deepEqual([paused.host, paused.reported_by], [host, 1]);
  const table = await hosts('list');
  assert.match(
    table.stdout,
    new RegExp(`^HOST .*\n${host} +${paused.paused_until} +1 +the server says that we ask too`),
  );
  assert.match(
    (await hosts('show', host)).stdout,
    new RegExp(`^${host} is paused until ${paused.paused_until}: the server`),
  );

  const resumed = await hosts('resume', host);
  assert.deepEqual(
    [resumed.stdout, resumed.code],
    [`${host} is no longer paused; workers contact it again within a few seconds.\n`, EXIT.done],
  );
  assert.equal((await hosts('resume', host)).stdout, `${host} was not paused.\n`);
  assert.deepEqual(JSON.parse((await hosts('resume', host, '--json')).stdout), { host, lifted: false });
});

test('what is not a host is refused by the API, with its reason', async () => {
  const { url } = await startService({ workers: 0 });
  const refused = await command(['hosts', 'resume', 'http://county.gov/'], { TRAWL_URL: url });
  assert.match(refused.stderr, /host.*must be a host such as county\.gov/s);
  assert.equal(refused.code, EXIT.badUsage);
});
