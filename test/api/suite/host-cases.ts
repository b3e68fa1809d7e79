import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { ComplianceAnswer } from '../../../src/contract/compliance-answer.ts';
import type { ItemAnswer } from '../../../src/contract/item-answers.ts';
import type { JobAnswer, JobStatusAnswer } from '../../../src/contract/job-answers.ts';
import type { HostAnswer, HostsAnswer, LiftedAnswer } from '../../../src/contract/service-answers.ts';
import { untilTrue } from '../../support/until.ts';
import { aboveBackend } from './above-backend.ts';
import { Client, type Start, uniqueId } from './client.ts';
import { PATIENT } from './made-jobs.ts';

const YEAR_SECONDS = 365 * 86_400;

/** A site that refuses its visitors for as long as the case wants it to. */
async function startSite() {
  const site = { requests: 0, isRefusing: true, answerMs: 0 };
  const server = createServer(async (_, response) => {
    site.requests += 1;
    await setTimeout(site.answerMs);
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
  const above = aboveBackend(client);

  /** A job of some pages of the site. */
  async function visit(host: string, pages: number): Promise<string> {
    const { job_id } = await client.create({
      job_id: uniqueId('visit'),
      scraper_id: 'example-http',
      items: Array.from({ length: pages }, (_, n) => ({ item_id: `i-${n}`, input: { url: `http://${host}/${n}` } })),
      execution_policy: {
        ...PATIENT,
        throttling: { max_concurrent_workers: 16, adaptive: false },
        retries: { max_retries: 0, max_retry_after_seconds: 600 },
      },
    });
    return job_id;
  }

  async function untilWaiting(jobId: string): Promise<NonNullable<JobAnswer['waiting_for']>> {
    const job = () => client.get<JobAnswer>(`/jobs/${jobId}`);
    await untilTrue(async () => (await job()).waiting_for !== null);
    const { waiting_for, status, summary } = await job();
    assert.ok(waiting_for);
    assert.deepEqual([status, summary.failed], ['in_progress', 0]);
    return waiting_for;
  }

  above(
    'a host that asks to be left alone for a year fails no item: the job waits, and continues when the pause is lifted',
    async () => {
      const site = await startSite();
      const path = `/hosts/${encodeURIComponent(site.host)}`;
      const before = Date.now();
      assert.deepEqual(await client.get<HostAnswer>(path), {
        ...{ host: site.host, paused_until: null, reason: null, paused_by: null, reported_by: 0, settings: null },
      });
      const first = await visit(site.host, 1);
      const wait = await untilWaiting(first);
      assert.equal(wait.host, site.host);
      assert.match(wait.reason, /ask too often \(429/);
      assert.deepEqual((await client.get<JobStatusAnswer>(`/jobs/${first}/status`)).waiting_for, wait);
      await untilTrue(async () => (await client.get<HostAnswer>(path)).paused_until !== null);
      const { hosts } = await client.get<HostsAnswer>('/hosts');
      assert.deepEqual(hosts, [await client.get<HostAnswer>(path)]);
      const [paused] = hosts;
      for (const until of [paused?.paused_until ?? '', wait.until]) {
        const ms = Date.parse(until) - before;
        assert.ok(ms > 600_000 - 1000 && ms < 600_000 + 60_000, `the wait lasts ${ms} ms`);
      }
      assert.match(paused?.reason ?? '', /ask too often \(429/);
      assert.deepEqual([paused?.paused_by, paused?.reported_by], ['host', 1]);

      // Every process learns of it, and then none contacts the host.
      const others: string[] = [];
      await untilTrue(async () => {
        const seen = site.requests;
        const jobId = await visit(site.host, 16);
        others.push(jobId);
        await untilWaiting(jobId);
        return site.requests === seen;
      });
      const item = await client.get<ItemAnswer>(`/jobs/${first}/items/i-0`);
      assert.deepEqual([item.status, item.attempts, item.error], ['pending', 0, null]);

      site.isRefusing = false;
      const lifted = (await client.ask('DELETE', `${path}/pause`)).json as LiftedAnswer;
      assert.deepEqual(lifted, { host: site.host, lifted: true });
      assert.deepEqual((await client.get<HostsAnswer>('/hosts')).hosts, []);
      for (const jobId of [first, ...others]) {
        const { summary } = await client.ended(jobId);
        assert.equal(summary.success, summary.total);
      }
      assert.deepEqual((await client.ask('DELETE', `${path}/pause`)).json, { host: site.host, lifted: false });
    },
  );

  above('a job over several sites continues with the others while one asks to be left alone', async () => {
    const [busy, other] = [await startSite(), await startSite()];
    other.isRefusing = false;
    const pagesOf = ({ host }: { host: string }, group: string, pages: number) =>
      Array.from({ length: pages }, (_, n) => ({
        item_id: `${group}-${n}`,
        input: { url: `http://${host}/${n}` },
        group,
      }));
    const { job_id: jobId } = await client.create({
      job_id: uniqueId('sites'),
      scraper_id: 'example-http',
      items: [...pagesOf(busy, 'busy', 6), ...pagesOf(other, 'other', 12)],
      batching: { by: 'group', max_items: 3 },
      execution_policy: {
        ...PATIENT,
        throttling: { max_concurrent_workers: 1 },
        retries: { max_retries: 0, max_retry_after_seconds: 600 },
      },
    });
    const job = () => client.get<JobAnswer>(`/jobs/${jobId}`);
    await untilTrue(async () => (await job()).summary.success === 12);
    const { status, summary, waiting_for } = await job();
    assert.deepEqual([status, summary.failed, summary.pending, waiting_for?.host], ['in_progress', 0, 6, busy.host]);
    busy.isRefusing = false;
    await client.ask('DELETE', `/hosts/${encodeURIComponent(busy.host)}/pause`);
    assert.equal((await client.ended(jobId)).summary.success, 18);
  });

  test('settings of a host are stored, shown, replaced and cleared', async () => {
    const host = `${uniqueId('settings')}.gov`.toLowerCase();
    const path = `/hosts/${host}`;
    const put = (json: object) => client.ask('PUT', `/hosts/${host.toUpperCase()}:80`, { json });
    const limits = { max_concurrent_requests: 4, requests_per_second: 0.5, min_delay_seconds: 1.5 };
    const first = await put({ ...limits, note: 'agreed with the county' });
    assert.equal(first.status, 200);
    const answer = first.json as HostAnswer;
    const { settings } = answer;
    assert.deepEqual(
      { ...settings, changed_at: '', version: '' },
      { ...limits, note: 'agreed with the county', paused_until: null, changed_at: '', version: '' },
    );
    assert.deepEqual([answer.host, answer.paused_until, answer.paused_by], [host, null, null]);
    assert.deepEqual(await client.get<HostAnswer>(path), answer);
    const listed = (await client.get<HostsAnswer>('/hosts')).hosts.find((each) => each.host === host);
    assert.deepEqual(listed, answer);

    const version = settings?.version;
    await client.refused(409, 'host_settings_changed', 'PUT', path, { json: { note: 'x', version: 'none' } });
    const second = (await put({ requests_per_second: 3, version })).json as HostAnswer;
    assert.equal(second.settings?.requests_per_second, 3);
    assert.deepEqual([second.settings?.max_concurrent_requests, second.settings?.note], [null, null]);
    await client.refused(409, 'host_settings_changed', 'PUT', path, { json: { note: 'late', version } });
    assert.deepEqual(await client.get<HostAnswer>(path), second);

    assert.deepEqual((await client.ask('DELETE', path)).json, { host, cleared: true });
    assert.deepEqual((await client.ask('DELETE', path)).json, { host, cleared: false });
    assert.equal((await client.get<HostAnswer>(path)).settings, null);
  });

  above('invalid settings are refused, each with the field that is wrong', async () => {
    for (const [field, value] of [
      ['max_concurrent_requests', 0],
      ['max_concurrent_requests', 1.5],
      ['requests_per_second', 0],
      ['requests_per_second', '2'],
      ['min_delay_seconds', -1],
      ['min_delay_seconds', 3601],
      ['note', 'n'.repeat(501)],
      ['paused_until', 'tomorrow'],
      ['paused_until', new Date(Date.now() - 1000).toISOString()],
      ['paused_until', new Date(Date.now() + 400 * 86_400_000).toISOString()],
      ['requests_per_minute', 1],
    ] as const) {
      const json = { [field]: value };
      const { errors } = await client.refused(422, 'invalid_request', 'PUT', '/hosts/county.gov', { json });
      assert.deepEqual(
        errors?.map(({ path }) => path),
        [field],
        JSON.stringify(json),
      );
    }
    assert.equal((await client.get<HostAnswer>('/hosts/county.gov')).settings, null);
  });

  above('an operator pauses a host for all processes, with a note, and lifts the pause', async () => {
    const site = await startSite();
    site.isRefusing = false;
    const path = `/hosts/${encodeURIComponent(site.host)}`;
    assert.equal((await client.ended(await visit(site.host, 1))).summary.success, 1);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const json = { paused_until: until, note: 'the county asked by phone', max_concurrent_requests: 9 };
    const paused = (await client.ask('PUT', path, { json })).json as HostAnswer;
    assert.deepEqual(
      [paused.paused_until, paused.reason, paused.paused_by, paused.reported_by],
      [until, 'the county asked by phone', 'operator', 0],
    );
    assert.equal(paused.settings?.paused_until, until);
    // A job that was created before every process had learnt of the pause may have ended.
    const waiting: string[] = [];
    await untilTrue(async () => {
      const seen = site.requests;
      const jobId = await visit(site.host, 4);
      await untilTrue(async () => {
        const job = await client.get<JobAnswer>(`/jobs/${jobId}`);
        return job.waiting_for !== null || job.status === 'completed';
      });
      waiting.push(jobId);
      return site.requests === seen;
    });

    assert.deepEqual((await client.ask('DELETE', `${path}/pause`)).json, { host: site.host, lifted: true });
    const lifted = await client.get<HostAnswer>(path);
    assert.deepEqual([lifted.paused_until, lifted.settings?.max_concurrent_requests], [null, 9]);
    for (const jobId of waiting) assert.equal((await client.ended(jobId)).summary.success, 4);
    await client.ask('DELETE', path);
  });

  test('a job shows what it did at each host, and which limits it exceeded', async () => {
    const site = await startSite();
    Object.assign(site, { isRefusing: false, answerMs: 300 });
    const jobId = await visit(site.host, 24);
    const read = () => client.get<ComplianceAnswer>(`/jobs/${jobId}/compliance`);
    await client.ended(jobId);
    await untilTrue(async () => (await read()).hosts[0]?.requests === 24);
    const { job_id, hosts, omitted_hosts } = await read();
    const [conduct] = hosts;
    assert.ok(conduct);
    assert.deepEqual([job_id, hosts.length, omitted_hosts], [jobId, 1, 0]);
    assert.deepEqual([conduct.host, conduct.exceeded, conduct.retry_after.honoured], [site.host, [], true]);
    const { highest, at_most, limit } = conduct.concurrency;
    assert.equal(limit, 16);
    assert.ok(highest >= 2 && highest <= 16 && at_most >= highest, JSON.stringify(conduct.concurrency));
    // A busy machine may take longer than ten seconds for them.
    const rate = conduct.requests_per_second.highest_over_ten_seconds;
    assert.ok(rate > 1 && rate <= 2.4, `${rate} requests per second`);
    assert.ok((conduct.gap_seconds.smallest ?? 1) < 0.3);
    assert.deepEqual(conduct.refusals, { share_429: 0, share_403: 0 });

    // A limit that is stricter than what the job did.
    const path = `/hosts/${encodeURIComponent(site.host)}`;
    const json = { max_concurrent_requests: 1, requests_per_second: 1, min_delay_seconds: 0.5 };
    await client.ask('PUT', path, { json });
    const [marked] = (await read()).hosts;
    assert.deepEqual(marked?.exceeded, ['concurrency', 'rate', 'gap']);
    assert.deepEqual(
      [marked?.concurrency.limit, marked?.requests_per_second.limit, marked?.gap_seconds.limit],
      [1, 1, 0.5],
    );
    await client.ask('DELETE', path);

    await client.refused(404, 'job_not_found', 'GET', '/jobs/never-made/compliance');
  });

  above('a host is identified by its name in an address, and what is not a host is refused', async () => {
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
      await client.refused(422, 'invalid_request', 'PUT', `/hosts/${bad}`, { json: { note: 'x' } });
      await client.refused(422, 'invalid_request', 'DELETE', `/hosts/${bad}`);
      await client.refused(422, 'invalid_request', 'DELETE', `/hosts/${bad}/pause`);
    }
  });
}
