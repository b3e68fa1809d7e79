import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import type { ItemPageAnswer } from '../../../src/contract/item-answers.ts';
import type { JobAnswer, JobStatusAnswer } from '../../../src/contract/job-answers.ts';
import type { ScraperAnswer, ScrapersAnswer } from '../../../src/contract/scraper-answers.ts';
import { type Client, uniqueId } from './client.ts';

/** A county that knows every parcel except 404, and fails for `down` until it is repaired. */
async function startCounty() {
  let isDown = true;
  const server = createServer((request, response) => {
    const apn = decodeURIComponent(request.url?.split('/').at(-1) ?? '');
    const isFailing = apn === 'down' && isDown;
    response.writeHead(isFailing ? 403 : 200, { 'content-type': 'text/html' });
    response.end(`<title>Parcel</title><p id="apn">${apn}</p><p id="owner">Owner of ${apn}</p>`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    repair() {
      isDown = false;
    },
  };
}

function recordingOf(host: string, id: string, more: object = {}) {
  return {
    ...{ id, version: '1', hosts: [host], engine: 'http' },
    steps: [
      { type: 'goto', url: `http://${host}/parcel/{{input.apn}}` },
      { type: 'extractText', selectors: ['#owner'], field: 'owner' },
    ],
    ...more,
  };
}

const ONCE = { retries: { max_retries: 0 } };

/** Recordings as scrapers: storing, showing and removing them. Nothing is run. */
export function storedRecordingCases(client: Client): void {
  const store = (json: unknown) => client.ask('POST', '/scrapers', { json });

  test('a stored recording is a scraper like any other, version by version, until it is deleted', async () => {
    const recording = recordingOf('county.test', 'stored');
    const first = await store(recording);
    assert.deepEqual([first.status, first.headers.get('location')], [201, '/scrapers/stored']);
    assert.equal((await store(recording)).status, 200);
    await client.refused(409, 'scraper_version_taken', 'POST', '/scrapers', { json: { ...recording, name: 'Other' } });
    assert.equal((await store({ ...recording, version: '2', engine: 'browser' })).status, 201);
    const shown = await client.get<ScraperAnswer>('/scrapers/stored');
    assert.deepEqual([shown.kind, shown.source, shown.version, shown.lane], ['recording', 'api', '2', 'browser']);
    assert.deepEqual(
      shown.versions.map(({ version }) => version),
      ['1', '2'],
    );
    const old = await client.get<ScraperAnswer>('/scrapers/stored?version=1');
    assert.deepEqual([old.version, old.lane, old.recording], ['1', 'http', recording]);
    assert.deepEqual(Object.keys(old.input_schema['properties'] as object), ['apn']);
    await client.refused(404, 'scraper_not_found', 'GET', '/scrapers/stored?version=3');
    const { scrapers } = await client.get<ScrapersAnswer>('/scrapers');
    assert.equal(scrapers.find(({ id }) => id === 'stored')?.version, '2');

    const items = [{ input: { apn: '1' } }];
    const { job_id: jobId, scraper_version } = await client.create({ scraper_id: 'stored', items, hold: true });
    assert.equal(scraper_version, '2');
    await client.refused(409, 'scraper_in_use', 'DELETE', '/scrapers/stored');
    await client.post(`/jobs/${jobId}/cancel`);
    assert.deepEqual((await client.ask('DELETE', '/scrapers/stored')).json, { id: 'stored', versions: 2 });
    await client.refused(404, 'scraper_not_found', 'DELETE', '/scrapers/stored');
    await client.refused(404, 'scraper_not_found', 'GET', '/scrapers/stored');
    const kept = await client.get<{ version: string }>(`/jobs/${jobId}/recording`);
    assert.equal(kept.version, '2', 'the job has a copy of its own');
  });

  test('what cannot be stored is refused with the reason', async () => {
    const bad = recordingOf('county.test', 'bad', { steps: [{ type: 'goto', url: 'https://elsewhere.test/' }] });
    const { errors } = await client.refused(422, 'invalid_request', 'POST', '/scrapers', { json: bad });
    assert.deepEqual(errors?.[0]?.path, 'steps.0.url');
    assert.match(errors?.[0]?.message ?? '', /^step 1 \(goto\), url: /);
    const taken = recordingOf('county.test', 'example-noop');
    const inFile = await client.refused(409, 'scraper_in_file', 'POST', '/scrapers', { json: taken });
    assert.match(inFile.detail, /example-noop.*\.ts/);
    await client.refused(409, 'scraper_in_file', 'DELETE', '/scrapers/example-noop');
    await client.refused(422, 'invalid_request', 'POST', '/scrapers', { json: {} });
    const both = { scraper_id: 'example-noop', recording: recordingOf('county.test', 'x') };
    const refused = await client.refused(422, 'invalid_request', 'POST', '/jobs', { json: both });
    assert.deepEqual(refused.errors?.[0]?.path, 'recording');
    const { job_id: jobId } = await client.create({ scraper_id: 'example-noop', hold: true });
    await client.refused(404, 'recording_not_found', 'GET', `/jobs/${jobId}/recording`);
  });
}

/** Jobs with recordings, carried out by a real worker over HTTP. */
export async function recordedJobCases(client: Client): Promise<void> {
  const county = await startCounty();
  const ownerOf = async (jobId: string, itemId: string) => {
    const { json } = await client.ask('GET', `/jobs/${jobId}/items/${itemId}/download?artifact=data`);
    return (json as { owner?: string } | null)?.owner;
  };

  test('a retry runs the steps of the version that the job was created with', async () => {
    const id = uniqueId('county');
    const store = (more: object) => client.ask('POST', '/scrapers', { json: recordingOf(county.host, id, more) });
    assert.equal((await store({})).status, 201);
    const items = ['1', 'down'].map((apn) => ({ item_id: apn, input: { apn } }));
    const jobId = uniqueId('recorded');
    const first = await client.run({ job_id: jobId, scraper_id: id, items, execution_policy: ONCE });
    assert.deepEqual([first.summary.success, first.summary.failed], [1, 1]);
    assert.equal(await ownerOf(jobId, '1'), 'Owner of 1');

    const other = [{ type: 'goto', url: `http://${county.host}/` }];
    assert.equal((await store({ version: '2', steps: other })).status, 201);
    assert.equal((await client.ask('DELETE', `/scrapers/${id}`)).status, 200);
    county.repair();
    await client.post(`/jobs/${jobId}/retry`, {});
    const again = await client.ended(jobId);
    assert.deepEqual([again.summary.success, again.summary.failed], [2, 0]);
    assert.equal(await ownerOf(jobId, 'down'), 'Owner of down');
    const { input, results } = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.deepEqual([input.recording?.origin, input.recording?.steps, results.scraper_versions], ['stored', 2, ['1']]);
  });

  test('a job carries its own recording: it is run, shown, written with the results, and deleted with the job', async () => {
    const jobId = uniqueId('inline');
    const recording = recordingOf(county.host, 'inline');
    const items = [{ item_id: 'a', input: { apn: '7' } }];
    const { summary } = await client.run({ job_id: jobId, recording, items });
    assert.equal(summary.success, 1);
    assert.equal(await ownerOf(jobId, 'a'), 'Owner of 7');
    assert.deepEqual(await client.get(`/jobs/${jobId}/recording`), recording);
    const more = await client.send<{ added: number; bad: number }>(jobId, 'text/csv', 'item_id,apn\nb,8\n');
    assert.deepEqual([more.added, more.bad], [1, 0]);
    const ended: JobStatusAnswer = await client.ended(jobId);
    assert.equal(ended.summary.success, 2);
    const extract = await client.refused(422, 'invalid_request', 'POST', `/jobs/${jobId}/extract`, { json: {} });
    assert.match(extract.errors?.[0]?.message ?? '', /is a recording/);
    const { items: listed } = await client.get<ItemPageAnswer>(`/jobs/${jobId}/items`);
    assert.deepEqual(
      listed.map(({ status }) => status),
      ['success', 'success'],
    );
    await client.deleteJob(jobId);
    await client.refused(404, 'job_not_found', 'GET', `/jobs/${jobId}/recording`);
  });
}
