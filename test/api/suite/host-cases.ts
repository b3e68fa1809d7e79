import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import type { ItemPageAnswer } from '../../../src/contract/item-answers.ts';
import type { HostAnswer, HostsAnswer, LiftedAnswer } from '../../../src/contract/service-answers.ts';
import { untilTrue } from '../../support/until.ts';
import { Client, type Start, uniqueId } from './client.ts';
import { PATIENT } from './made-jobs.ts';

const YEAR_SECONDS = 365 * 86_400;

/** A site that refuses its visitors for as long as it is told to. */
async function startSite() {
  const site = { requests: 0, isRefusing: true };
  const server = createServer((_, response) => {
    site.requests += 1;
    if (site.isRefusing) response.writeHead(429, { 'retry-after': String(YEAR_SECONDS) }).end();
    else response.writeHead(200, { 'content-type': 'text/html' }).end('<title>a page</title>');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(site, { host: `127.0.0.1:${(server.address() as AddressInfo).port}` });
}

/** Hosts that asked to be left alone: seen, respected by all processes, and released. */
export async function hostCases(start: Start): Promise<void> {
  const client = await Client.of(await start({ workers: 2, allowAddresses: 'loopback' }));

  /** A job of some pages of the site, one after another; answers how its items ended. */
  async function visit(host: string, pages: number): Promise<readonly string[]> {
    const { job_id } = await client.run({
      job_id: uniqueId('visit'),
      scraper_id: 'example-http',
      items: Array.from({ length: pages }, (_, n) => ({ item_id: `i-${n}`, input: { url: `http://${host}/${n}` } })),
      execution_policy: {
        ...PATIENT,
        throttling: { max_concurrent_workers: 16, adaptive: false },
        retries: { max_retries: 0, max_retry_after_seconds: 600 },
      },
    });
    const { items } = await client.get<ItemPageAnswer>(`/jobs/${job_id}/items`);
    return items.map(({ status, error }) => error?.type ?? status);
  }

  test('a host that asks to be left alone for a year is listed, with the time that the policy allows, and can be released', async () => {
    const site = await startSite();
    const path = `/hosts/${encodeURIComponent(site.host)}`;
    const before = Date.now();
    assert.deepEqual(await client.get<HostAnswer>(path), {
      ...{ host: site.host, paused_until: null, reason: null, reported_by: 0 },
    });
    assert.deepEqual(await visit(site.host, 1), ['rate_limited']);
    await untilTrue(async () => (await client.get<HostAnswer>(path)).paused_until !== null);
    const { hosts } = await client.get<HostsAnswer>('/hosts');
    assert.deepEqual(hosts, [await client.get<HostAnswer>(path)]);
    const [paused] = hosts;
    const ms = Date.parse(paused?.paused_until ?? '') - before;
    assert.ok(ms > 600_000 - 1000 && ms < 600_000 + 60_000, `it is paused for ${ms} ms`);
    assert.match(paused?.reason ?? '', /ask too often \(429/);
    assert.equal(paused?.reported_by, 1);

    // Every process hears of it, and then nobody goes there.
    await untilTrue(async () => {
      const seen = site.requests;
      assert.deepEqual([...new Set(await visit(site.host, 16))], ['rate_limited']);
      return site.requests === seen;
    });
    site.isRefusing = false;
    assert.deepEqual([...new Set(await visit(site.host, 16))], ['rate_limited']);

    const lifted = (await client.ask('DELETE', `${path}/pause`)).json as LiftedAnswer;
    assert.deepEqual(lifted, { host: site.host, lifted: true });
    assert.deepEqual((await client.ask('DELETE', `${path}/pause`)).json, { host: site.host, lifted: false });
    assert.deepEqual((await client.get<HostsAnswer>('/hosts')).hosts, []);
    await untilTrue(async () => (await visit(site.host, 16)).every((end) => end === 'success'));
  });

  test('a host is known by what an address calls it, and what is none is refused', async () => {
    for (const [given, host] of [
      ['Treasurer.County.GOV:80', 'treasurer.county.gov'],
      ['county.gov:8080', 'county.gov:8080'],
      ['[::1]:81', '[::1]:81'],
      ['b%C3%BCcher.example', 'xn--bcher-kva.example'],
    ] as const) {
      assert.equal((await client.get<HostAnswer>(`/hosts/${given}`)).host, host);
    }
    for (const bad of ['a%2Fb', 'user%40county.gov', 'a%20b', '%3F', 'county.gov:99999', 'x'.repeat(301)]) {
      await client.refused(422, 'invalid_request', 'GET', `/hosts/${bad}`);
      await client.refused(422, 'invalid_request', 'DELETE', `/hosts/${bad}/pause`);
    }
  });
}
