import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { test } from 'node:test';
import type { ProblemAnswer } from '../../../src/contract/problem-answer.ts';
import { Client, type Start } from './client.ts';

const FULL = 'full-key-1234';
const HASHED = 'another-full-key';
const READ = 'read-key-5678';

/** These operations only read, but they visit a site in our name. */
const VISITS = ['/discover', '/sites/{site_id}/content', '/sites/{site_id}/links'];

/** Who may do what, and from where. */
export async function accessCases(client: Client, start: Start): Promise<void> {
  const hash = createHash('sha256').update(HASHED).digest('hex');
  const guarded = await Client.of(
    await start({ workers: 0, apiKey: `${FULL}, sha256:${hash}`, readApiKey: READ, allowedHosts: ['trawl.example'] }),
  );
  const operations = Object.entries(guarded.document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { security }]) => {
      const query = template.endsWith('/download') ? '?artifact=html' : '';
      const path = template.replaceAll(/\{\w+\}/g, 'none') + query;
      const isOpen = security?.length === 0;
      return {
        method: method.toUpperCase(),
        path,
        needs: isOpen ? 'nothing' : method === 'get' && !VISITS.includes(template) ? 'read' : 'full',
      };
    }),
  );
  const statusOf = async (method: string, path: string, headers: Record<string, string>) =>
    (await guarded.ask(method, path, { headers })).status;

  test('every operation except those about the service itself needs a key', async () => {
    const open = operations.filter(({ needs }) => needs === 'nothing').map(({ path }) => path);
    assert.deepEqual(open.sort(), ['/docs', '/health', '/openapi.json', '/ready']);
    for (const { method, path, needs } of operations) {
      const status = await statusOf(method, path, {});
      assert.equal(status === 401, needs !== 'nothing', `${method} ${path}: ${status}`);
      if (needs !== 'nothing') assert.equal(await statusOf(method, path, { 'x-api-key': 'a guess' }), 401, path);
    }
    const { headers } = await guarded.ask('GET', '/jobs');
    assert.equal(headers.get('www-authenticate'), 'Bearer');
  });

  test('a read-only key is refused by every operation that writes, and by no other', async () => {
    for (const { method, path, needs } of operations) {
      const status = await statusOf(method, path, { 'x-api-key': READ });
      assert.equal(status === 403, needs === 'full', `${method} ${path}: ${status}`);
      assert.notEqual(status, 401);
    }
    const { code } = (await guarded.ask('POST', '/jobs', { headers: { 'x-api-key': READ }, json: {} }))
      .json as ProblemAnswer;
    assert.equal(code, 'forbidden');
  });

  test('a key is accepted in its own header or as a bearer token, whether configured in plain text or as a hash', async () => {
    const all = [
      { 'x-api-key': FULL },
      { authorization: `Bearer ${FULL}` },
      { authorization: `bearer ${FULL}` },
      { 'x-api-key': HASHED },
      { authorization: `Bearer ${HASHED}` },
    ];
    for (const headers of all) {
      for (const { method, path } of operations) {
        const status = await statusOf(method, path, headers);
        assert.ok(status !== 401 && status !== 403, `${method} ${path}: ${status}`);
      }
    }
    const refused = [
      { 'x-api-key': `sha256:${hash}` },
      { 'x-api-key': hash },
      { 'x-api-key': FULL.slice(0, -1) },
      { 'x-api-key': `${FULL}, sha256:${hash}` },
      { 'x-api-key': '' },
      { authorization: FULL },
      { authorization: `Basic ${FULL}` },
    ];
    for (const headers of refused) assert.equal(await statusOf('GET', '/jobs', headers as Record<string, string>), 401);
  });

  test('a request without a key is refused before its body is read, and nothing about what it asks for is disclosed', async () => {
    const answer = await guarded.ask('POST', '/jobs', { body: '{', headers: { 'content-type': 'application/json' } });
    assert.equal(answer.status, 401);
    assert.equal((await guarded.ask('GET', '/jobs/none')).status, 401);
  });

  test('without keys everything is allowed from this machine', async () => {
    for (const { method, path } of operations) {
      const { status } = await client.ask(method, path);
      assert.ok(status !== 401 && status !== 403, `${method} ${path}: ${status}`);
    }
  });

  test('without a key the service refuses to listen where other machines could reach it', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com']) {
      await assert.rejects(start({ workers: 0, host }), /without an API key.*TRAWL_API_KEY/);
    }
    // A read-only key guards nothing that writes.
    await assert.rejects(start({ workers: 0, host: '0.0.0.0', readApiKey: READ }), /TRAWL_API_KEY/);
  });

  test('with a key the service listens for other machines', async () => {
    const service = await start({ workers: 0, host: '0.0.0.0', apiKey: FULL });
    const { port } = new URL(service.url);
    const answer = await rawRequest(`http://127.0.0.1:${port}`, '/health', {});
    assert.equal(answer.status, 200);
    await service.stop();
  });

  test('a request for a host that is not ours is refused: a name that was made to resolve to our address can read nothing', async () => {
    const { port } = new URL(client.url);
    const statusFor = async (host: string) => (await rawRequest(client.url, '/jobs', { host })).status;
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`, 'localhost']) {
      assert.equal(await statusFor(host), 200, host);
    }
    const others = ['evil.test', `evil.test:${port}`, `127.0.0.1.nip.io:${port}`, 'localhost.evil.test', '0.0.0.0', ''];
    for (const host of [
      ...others,
      'localhost@evil.test',
      'evil.test/localhost',
      '169.254.169.254',
      '127.0.0.1:80:80',
    ]) {
      const { status, problem } = await rawRequest(client.url, '/jobs', { host });
      assert.deepEqual([status, problem?.code], [403, 'forbidden_host'], host);
    }
    assert.equal((await rawRequest(client.url, '/health', { host: 'evil.test' })).status, 403);
  });

  test('configured hosts are ours as well, and no others are', async () => {
    const named = { host: 'trawl.example', 'x-api-key': FULL };
    assert.equal((await rawRequest(guarded.url, '/jobs', named)).status, 200);
    assert.equal((await rawRequest(guarded.url, '/jobs', { ...named, host: 'evil.test' })).status, 403);
  });

  test('a page of another site may neither read nor write', async () => {
    const { host } = new URL(client.url);
    const answers = async (headers: Record<string, string>) => {
      const read = await client.ask('GET', '/jobs', { headers });
      // This is what a form of another site would send.
      const write = await client.ask('POST', '/jobs/none/start', { headers });
      return [read.status, write.status];
    };
    for (const origin of ['null', 'http://evil.test', `https://evil.test:80`, `http://${host}.evil.test`, 'file://']) {
      assert.deepEqual(await answers({ origin }), [403, 403], origin);
    }
    assert.deepEqual(await answers({ origin: 'http://localhost:1' }), [403, 403]);
    for (const site of ['cross-site', 'same-site']) {
      assert.deepEqual(await answers({ 'sec-fetch-site': site }), [403, 403], site);
    }
    assert.deepEqual(await answers({ origin: `http://${host}` }), [200, 404]);
    assert.deepEqual(await answers({ 'sec-fetch-site': 'same-origin' }), [200, 404]);
    assert.deepEqual(await answers({ 'sec-fetch-site': 'none' }), [200, 404]);
    const { headers } = await client.ask('GET', '/jobs', { headers: { origin: `http://${host}` } });
    assert.equal(headers.get('access-control-allow-origin'), null);
  });
}

/** `fetch` sets the Host header itself. */
async function rawRequest(url: string, path: string, headers: Record<string, string>) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; problem: ProblemAnswer | null }>();
  const asked = request(url + path, { headers, setHost: false, agent: false }, async (answer) => {
    let text = '';
    for await (const chunk of answer) text += chunk;
    const isProblem = answer.headers['content-type'] === 'application/problem+json';
    resolve({ status: answer.statusCode ?? 0, problem: isProblem ? (JSON.parse(text) as ProblemAnswer) : null });
  });
  if (!('host' in headers)) asked.setHeader('host', new URL(url).host);
  asked.once('error', reject).end();
  return promise;
}
