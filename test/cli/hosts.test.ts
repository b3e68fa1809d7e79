import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { complianceLines } from '../../src/cli/jobs/compliance-text.ts';
import type { HostComplianceAnswer } from '../../src/contract/compliance-answer.ts';
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
  assert.deepEqual([none.stdout, none.stderr, none.code], ['', 'No hosts are paused or have settings.\n', EXIT.done]);
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
    new RegExp(`^HOST .*\n${host} +${paused.paused_until} +1 +- +the server says that we ask too`),
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

test('settings of a host are set one by one, listed, shown and cleared', async () => {
  const { url } = await startService({ workers: 0 });
  const hosts = (...words: readonly string[]) => command(['hosts', ...words], { TRAWL_URL: url });
  const set = await hosts('set', 'Treasurer.county.gov:80', '--requests-per-second', '2', '--note', 'agreed on 3 May');
  const name = 'treasurer.county.gov';
  assert.deepEqual(
    [set.stdout, set.code],
    [`${name} is not paused.\nLimits: 2 requests/s.\nNote: agreed on 3 May\n`, EXIT.done],
  );
  const more = await hosts('set', name, '--max-concurrent', '4', '--min-delay', '0.5');
  assert.match(more.stdout, /Limits: 2 requests\/s, 4 at once, 0\.5 s apart\.\nNote: agreed on 3 May\n$/);
  assert.match(
    (await hosts('list')).stdout,
    /^HOST .*\ntreasurer\.county\.gov +- +0 +2 requests\/s, 4 at once, 0\.5 s apart +agreed on 3 May\n$/,
  );

  const before = Date.now();
  const paused = JSON.parse((await hosts('set', name, '--paused-for', '90', '--json')).stdout);
  const ms = Date.parse(paused.paused_until) - before;
  assert.ok(ms >= 90 * 60_000 && ms < 91 * 60_000, `it is paused for ${ms} ms`);
  assert.match((await hosts('show', name)).stdout, /is paused until .*: agreed on 3 May\nLimits: 2 requests/);
  const open = await hosts('set', name, '--paused-until', 'none', '--note', 'none', '--requests-per-second', 'none');
  assert.equal(open.stdout, `${name} is not paused.\nLimits: 4 at once, 0.5 s apart.\n`);

  assert.equal((await hosts('clear', name)).stdout, `The settings of ${name} are cleared.\n`);
  assert.equal((await hosts('clear', name)).stdout, `${name} had no settings.\n`);
});

test('settings that cannot be used are refused by name', async () => {
  const { url } = await startService({ workers: 0 });
  for (const [words, message] of [
    [[], /name at least one setting/],
    [['--requests-per-second', 'fast'], /--requests-per-second.*It must be a number, or none/s],
    [['--max-concurrent', '0'], /max_concurrent_requests/],
    [['--paused-until', '2020-01-01T00:00:00Z'], /paused_until.*must be in the future/s],
    [['--paused-until', 'soon'], /--paused-until.*It must be a time/s],
    [['--paused-for', '5', '--paused-until', 'none'], /either --paused-until or --paused-for/],
  ] as const) {
    const { stderr, code } = await command(['hosts', 'set', 'county.gov', ...words], { TRAWL_URL: url });
    assert.match(stderr, message);
    assert.equal(code, EXIT.badUsage, words.join(' '));
  }
});

test('what is not a host is refused by the API, with its reason', async () => {
  const { url } = await startService({ workers: 0 });
  const refused = await command(['hosts', 'resume', 'http://county.gov/'], { TRAWL_URL: url });
  assert.match(refused.stderr, /host.*must be a host such as county\.gov/s);
  assert.equal(refused.code, EXIT.badUsage);
});

const COUNTY: HostComplianceAnswer = {
  host: 'county.gov',
  requests: 1234,
  exceeded: [],
  concurrency: { highest: 4, at_most: 6, limit: 4 },
  requests_per_second: { highest: 6, highest_over_ten_seconds: 4.9, limit: 5 },
  gap_seconds: { smallest: 0.2, limit: 0.2 },
  refusals: null,
  retry_after: { honoured: true, requests_during_pause: 0, soonest_after_seconds: null },
};

test('the status of a job has a line per host, and what exceeded a limit comes first and is marked', () => {
  const rude: HostComplianceAnswer = {
    ...COUNTY,
    host: 'state.gov',
    requests: 1,
    exceeded: ['rate', 'pause'],
    concurrency: { highest: 1, at_most: 1, limit: null },
    requests_per_second: { highest: 1, highest_over_ten_seconds: 0.1, limit: null },
    gap_seconds: { smallest: null, limit: null },
    refusals: { share_429: 0.25, share_403: 0.001 },
    retry_after: { honoured: false, requests_during_pause: 3, soonest_after_seconds: 2 },
  };
  assert.deepEqual(complianceLines({ job_id: 'j', hosts: [COUNTY, rude], omitted_hosts: 2 }), [
    '',
    'Hosts:',
    '  state.gov: 1 request, up to 1 at once, 0.1/s over ten seconds, 25 % answered 429, <1 % 403, 3 requests while it asked us to wait; ' +
      'EXCEEDED: requests per second, Retry-After',
    '  county.gov: 1,234 requests, up to 4 at once (limit 4), 4.9/s over ten seconds (limit 5/s), ' +
      '0.2 s apart or more (limit 0.2 s)',
    '  and 2 other hosts',
  ]);
  assert.deepEqual(complianceLines({ job_id: 'j', hosts: [], omitted_hosts: 0 }), []);
});
