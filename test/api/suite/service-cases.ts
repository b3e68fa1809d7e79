import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import type { ScraperAnswer, ScrapersAnswer } from '../../../src/contract/scraper-answers.ts';
import { openObjects } from '../../support/openapi.ts';
import { aboveBackend } from './above-backend.ts';
import { type Client, noopItems } from './client.ts';
import { completedWithFailures } from './made-jobs.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** The service itself: what it reports about itself, and how it answers invalid requests. `still` has no workers. */
export function serviceCases(client: Client, still: Client): void {
  const above = aboveBackend(client);

  above('a linter finds nothing wrong with the OpenAPI document', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const { text } = await client.ask('GET', '/openapi.json');
    const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config });
    const said = problems.map(({ severity, ruleId, message, location }) =>
      [severity, ruleId, message, location[0]?.pointer].join(' '),
    );
    assert.deepEqual(said, []);
  });

  above(
    'no object of the OpenAPI document has fields that it does not name, except where any fields are allowed',
    async () => {
      assert.deepEqual(openObjects(client.document).sort(), [
        // Lists of URLs come from other programs, which have more to say about each.
        '/components/schemas/BulkRequest/properties/urls/items/anyOf/1',
        // Recordings have a JSON Schema of their own, docs/recording.schema.json.
        '/components/schemas/Recording',
        // The rows of a part are those of the manifest, which may gain more fields.
        '/components/schemas/ResultPart/properties/items/items',
        // JSON schemas of scrapers, and this document itself, may have any fields.
        '/components/schemas/Scraper/properties/input_schema',
        '/components/schemas/Scraper/properties/output_schema/anyOf/0',
        '/components/schemas/Scraper/properties/recording/anyOf/0',
        '/paths//jobs/{job_id}/recording/get/responses/200/content/application/json/schema',
        '/paths//openapi.json/get/responses/200/content/application/json/schema',
      ]);
    },
  );

  above('every operation is on the page for people, which loads nothing from anywhere and runs nothing', async () => {
    const { text, headers } = await client.ask('GET', '/docs');
    for (const [path, methods] of Object.entries(client.document.paths)) {
      for (const [method, { operationId, summary }] of Object.entries(methods)) {
        assert.ok(text.includes(`id="${operationId}"`), operationId);
        assert.ok(text.includes(`${method.toUpperCase()}</b> <code>${path}</code> ${summary}`), `${method} ${path}`);
      }
    }
    for (const [, target] of text.matchAll(/(?:href|src|action|url)\s*=\s*["']?([^"'\s>]*)/gi)) {
      assert.match(target ?? '', /^(#|\/openapi\.json$)/);
    }
    assert.doesNotMatch(text, /<script|<link|<img|<iframe|<object|@import|url\(|\son\w+\s*=/i);
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /script-src|https?:/);
  });

  above('scrapers are listed, each with the schemas of its input and its data', async () => {
    const { scrapers } = await client.get<ScrapersAnswer>('/scrapers');
    const ids = scrapers.map(({ id }) => id);
    assert.deepEqual(ids, [...ids].sort());
    for (const id of ['example-noop', 'example-mock', 'example-http', 'test-mixed']) assert.ok(ids.includes(id), id);
    const scraper = await client.get<ScraperAnswer>('/scrapers/demo-parcel');
    const input = scraper.input_schema as { properties: object; required: string[]; additionalProperties: boolean };
    assert.deepEqual([Object.keys(input.properties), input.required], [['apn'], ['apn']]);
    assert.equal(input.additionalProperties, false);
    const output = scraper.output_schema as { properties: object };
    assert.deepEqual(Object.keys(output.properties).slice(0, 3), ['apn', 'owner', 'city']);
    assert.deepEqual(
      [scraper.kind, scraper.lane, scraper.can_extract, scraper.hosts],
      ['http', 'http', true, ['demo-county.test']],
    );
    const { output_schema: none } = await client.get<ScraperAnswer>('/scrapers/example-noop');
    assert.equal(none, null);
    await client.refused(404, 'scraper_not_found', 'GET', '/scrapers/nobody');
  });

  test('the queue is reported lane by lane: what is waiting for a worker, and what workers are processing', async () => {
    const throttling = { max_concurrent_workers: 5 };
    const made = async (where: Client) => {
      const items = Array.from({ length: 7 }, (_, n) => ({ item_id: `${n}`, input: { ms: n < 5 ? 1000 : 0 } }));
      return where.create({ scraper_id: 'example-slow', items, execution_policy: { throttling } });
    };
    const nothing = { waiting: 0, in_flight: 0 };
    assert.deepEqual(await depths(still), { browser: nothing, http: nothing });
    const { job_id: waiting } = await made(still);
    await still.until(waiting, ({ data }) => data.summary?.queued === 5);
    assert.deepEqual(await depths(still), { browser: nothing, http: { waiting: 5, in_flight: 0 } });
    const { job_id: working } = await made(client);
    await client.until(working, ({ data }) => data.summary?.in_progress === 5);
    assert.deepEqual(await depths(client), { browser: nothing, http: { waiting: 0, in_flight: 5 } });
    await client.ended(working);
  });

  test('a service that is well is healthy and ready', async () => {
    const health = await client.get<{ status: string; version: string }>('/health');
    assert.equal(health.status, 'ok');
    const { ready, checks } = await client.get<{ ready: boolean; checks: { ok: boolean }[] }>('/ready');
    assert.deepEqual([ready, checks.every(({ ok }) => ok)], [true, true]);
  });

  test('metrics count what was asked and what was done', async () => {
    const before = await metricsOf(client);
    const jobId = await completedWithFailures(client, { good: 3, server_error: 2, no_results: 1 });
    await client.refused(404, 'job_not_found', 'GET', '/jobs/nobody-made-it');
    await client.refused(404, 'job_not_found', 'GET', '/jobs/nobody-made-it');
    await client.refused(404, 'not_found', 'GET', '/nobody-made-it');
    const asked = 'trawl_http_request_duration_seconds_count';
    const watched = `${asked}{operation="watchJob",method="GET",status_class="2xx"}`;
    let after = await metricsOf(client);
    let looks = 1;
    // A stream is counted when the server has noticed that its client is gone.
    for (; after.get(watched) === before.get(watched); looks += 1) after = await metricsOf(client);
    const more = [...after].map(([series, value]) => [series, value - (before.get(series) ?? 0)] as const);
    const grown = (name: string) => Object.fromEntries(more.filter(([key, by]) => key.startsWith(name) && by !== 0));
    assert.deepEqual(grown('trawl_items_total'), {
      'trawl_items_total{status="success",error_type="none"}': 3,
      'trawl_items_total{status="failed",error_type="server_error"}': 2,
      'trawl_items_total{status="failed",error_type="no_results"}': 1,
    });
    assert.deepEqual(grown('trawl_attempt_duration_seconds_count'), {
      'trawl_attempt_duration_seconds_count{status="success"}': 3,
      'trawl_attempt_duration_seconds_count{status="failed"}': 3,
    });
    assert.deepEqual(grown('trawl_jobs_ended_total'), { 'trawl_jobs_ended_total{status="completed"}': 1 });
    assert.deepEqual(grown(asked), {
      [`${asked}{operation="getMetrics",method="GET",status_class="2xx"}`]: looks,
      [`${asked}{operation="createJob",method="POST",status_class="2xx"}`]: 1,
      [watched]: 1,
      [`${asked}{operation="getJob",method="GET",status_class="4xx"}`]: 2,
      [`${asked}{operation="none",method="GET",status_class="4xx"}`]: 1,
    });
    assert.equal(after.get('trawl_workers_connected'), 1);
    assert.equal(after.get('trawl_leading'), 1);
    const ids = [...after.keys()].filter((series) => series.includes('nobody-made-it') || series.includes(jobId));
    assert.deepEqual(ids, []);
  });

  above('what is not a path of the API is reported as not found', async () => {
    for (const path of ['/', '/nothing', '/job', '/jobs/a/b/c/d', '/docs/x', '/JOBS', '/favicon.ico']) {
      await client.refused(404, 'not_found', 'GET', path);
    }
  });

  above('a method that a path does not have is refused, with those that it has', async () => {
    for (const [method, path, allowed] of [
      ['PUT', '/jobs', 'POST, GET'],
      ['DELETE', '/jobs', 'POST, GET'],
      ['GET', '/jobs/a/start', 'POST'],
      ['POST', '/health', 'GET'],
      ['OPTIONS', '/jobs/a', 'GET, PATCH, DELETE'],
    ] as const) {
      const { headers } = await client.ask(method, path);
      assert.equal(headers.get('allow'), allowed, path);
      await client.refused(405, 'method_not_allowed', method, path);
    }
  });

  above('a body that is not usable JSON is refused for what it is', async () => {
    const post = (status: number, code: string, body: string | Uint8Array, headers: Record<string, string>) =>
      client.refused(status, code, 'POST', '/jobs', { body, headers });
    await post(415, 'unsupported_media_type', 'x', { 'content-type': 'text/plain' });
    await post(415, 'unsupported_media_type', '{}', { 'content-type': 'application/x-www-form-urlencoded' });
    await post(400, 'malformed_request', '{"scraper_id"', JSON_TYPE);
    await post(400, 'malformed_request', '', JSON_TYPE);
    await post(400, 'malformed_request', '  \n', JSON_TYPE);
    await post(400, 'malformed_request', new Uint8Array([0x7b, 0xff, 0x7d]), JSON_TYPE);
    await post(422, 'invalid_request', '{"__proto__":{"a":1},"scraper_id":"example-noop"}', JSON_TYPE);
    for (const body of ['null', '7', '"text"', '[]']) await post(422, 'invalid_request', body, JSON_TYPE);
    await client.refused(400, 'malformed_request', 'POST', '/jobs');
  });

  above('a body where none is needed is read anyway', async () => {
    const { job_id: jobId } = await client.create({ scraper_id: 'example-noop', items: noopItems(1), hold: true });
    const path = `/jobs/${jobId}/start`;
    const { errors } = await client.refused(422, 'invalid_request', 'POST', path, { json: { force: true } });
    assert.equal(errors?.[0]?.path, 'force');
    assert.equal((await client.ask('POST', path, { json: {} })).status, 200);
  });

  above('a body above the limit is refused before it is read', async () => {
    const { job_id: small } = await client.create({ scraper_id: 'example-noop', hold: true });
    const json = { execution_policy: { filler: 'x'.repeat(1 << 20) } };
    await client.refused(413, 'too_large', 'PATCH', `/jobs/${small}`, { json });
  });

  above('bytes that are not HTTP are answered with a problem, and the connection is closed', async () => {
    const { port } = new URL(client.url);
    const { connect } = await import('node:net');
    const said = async (bytes: string) => {
      const socket = connect({ host: '127.0.0.1', port: Number(port) });
      socket.write(bytes);
      let text = '';
      for await (const chunk of socket) text += chunk;
      return text;
    };
    assert.match(
      await said('nonsense\r\n\r\n'),
      /^HTTP\/1\.1 400 [\s\S]*application\/problem\+json[\s\S]*malformed_request/,
    );
    const headers = `GET /health HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`;
    assert.match(await said(headers), /^HTTP\/1\.1 431 [\s\S]*headers_too_large/);
  });

  above('a GET that comes with a body is answered to the end', async () => {
    const { port } = new URL(client.url);
    const { connect } = await import('node:net');
    const whole = (await client.ask('GET', '/openapi.json')).text.length;
    const type = 'content-type: application/json\r\ncontent-length: 2';
    const socket = connect({ host: '127.0.0.1', port: Number(port) });
    socket.write(`GET /openapi.json HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${type}\r\n\r\n`);
    // This is later than an answer that is not held up by it, and before any of the body is read.
    for (let turns = 0; turns < 200; turns += 1) await turn();
    socket.write('{}');
    let text = '';
    for await (const chunk of socket) text += chunk;
    assert.equal(text.slice(text.indexOf('\r\n\r\n') + 4).length, whole);
  });

  above('a path with a broken escape is a problem like any other', async () => {
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    request(`${client.url}/jobs/%zz`, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).end();
    assert.equal(await promise, 400);
  });

  above('every answer forbids caching and content sniffing', async () => {
    for (const path of ['/jobs', '/health', '/nothing', '/docs']) {
      const { headers } = await client.ask('GET', path);
      assert.deepEqual([headers.get('x-content-type-options'), headers.get('cache-control')], ['nosniff', 'no-store']);
    }
  });
}

async function depths(client: Client): Promise<Record<string, { waiting: number; in_flight: number }>> {
  const { lanes } = await client.get<{ lanes: { lane: string; waiting: number; in_flight: number }[] }>('/queue');
  return Object.fromEntries(lanes.map(({ lane, ...depth }) => [lane, depth]));
}

/** Every series, by its name and labels as they are written there. */
async function metricsOf(client: Client): Promise<ReadonlyMap<string, number>> {
  const { text, headers } = await client.ask('GET', '/metrics');
  assert.match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  assert.match(text, /^# TYPE trawl_items_total counter$/m);
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}
