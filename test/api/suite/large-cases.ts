import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { AddedAnswer, ItemAnswer } from '../../../src/contract/item-answers.ts';
import type { CreatedAnswer, JobAnswer } from '../../../src/contract/job-answers.ts';
import { aboveBackend } from './above-backend.ts';
import { allPages, Client, noopItems, type Start, uniqueId } from './client.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const NDJSON = { 'content-type': 'application/x-ndjson' };
const GZIP = { 'content-encoding': 'gzip' };
const MIB = 2 ** 20;

/** A service of its own, with a low limit for bodies. Requests with more than 10,000 items go through a draft. */
export async function largeCases(start: Start): Promise<void> {
  const client = await Client.of(await start({ workers: 0, maxBodyBytes: 3 * MIB }));
  const above = aboveBackend(client);

  test('a job of more items than are created in one step is created completely by one request', async () => {
    const job_id = uniqueId('large');
    const items = noopItems(12_000);
    const created = await client.create({ items, job_id, scraper_id: 'example-noop', hold: true });
    assert.deepEqual([created.seeded_count, created.held], [12_000, true]);
    const listed = await allPages<ItemAnswer>(client, `/jobs/${job_id}/items?limit=1000`, 'items');
    assert.deepEqual(
      listed.map(({ item_id, input }) => ({ item_id, input })),
      items,
    );
    await client.refused(409, 'job_exists', 'POST', '/jobs', { json: { job_id, scraper_id: 'example-noop', items } });
    const again = await client.send<AddedAnswer>(job_id, NDJSON['content-type'], linesOf(noopItems(2, 11_999)));
    assert.deepEqual([again.added, again.duplicates], [1, 1]);
  });

  above('a large job is refused with the index and field of each bad item, and nothing of it is created', async () => {
    const job_id = uniqueId('large-bad');
    const items = noopItems(10_500).map(({ item_id }) => ({ item_id, input: { apn: 'x' } as Record<string, unknown> }));
    items[10_200] = { item_id: 'i-3', input: { apn: 'y' } };
    items[10_300] = { item_id: 'i-4', input: { apn: 'x' } };
    items[10_400] = { item_id: 'bad', input: { apn: 7 } };
    for (const json of [
      { job_id, scraper_id: 'example-mock', items },
      { items, job_id, scraper_id: 'example-mock' },
    ]) {
      const { errors = [] } = await client.refused(422, 'invalid_request', 'POST', '/jobs', { json });
      assert.deepEqual(
        errors.map(({ path }) => path),
        ['items.10200.item_id', 'items.10300.item_id', 'items.10400.input.apn'],
      );
      assert.equal(errors[0]?.message, 'i-3 is already the id of items.3, with a different input');
      assert.equal(errors[1]?.message, 'i-4 is already the id of items.4, with the same input');
      await client.refused(404, 'job_not_found', 'GET', `/jobs/${job_id}`);
    }
    assert.equal((await client.create({ job_id, scraper_id: 'example-noop', hold: true })).seeded_count, 0);
  });

  test('a large request under an idempotency key creates one job, however often it is sent', async () => {
    const json = { scraper_id: 'example-noop', items: noopItems(10_001), hold: true };
    const headers = { 'idempotency-key': uniqueId('large-key') };
    const answers = await Promise.all([1, 2, 3].map(() => client.ask('POST', '/jobs', { json, headers })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 201]);
    assert.equal(new Set(answers.map((answer) => (answer.json as CreatedAnswer).job_id)).size, 1);
    const other = { ...json, items: noopItems(10_001, 1) };
    await client.refused(422, 'idempotency_key_reused', 'POST', '/jobs', { json: other, headers });
  });

  above('the body of a job and the body of its items may be compressed with gzip', async () => {
    const job_id = uniqueId('packed');
    const body = gzipSync(JSON.stringify({ job_id, scraper_id: 'example-noop', items: noopItems(10_100), hold: true }));
    const made = await client.ask('POST', '/jobs', { body, headers: { ...JSON_TYPE, ...GZIP } });
    assert.equal(made.status, 201, made.text);
    const lines = gzipSync(linesOf(noopItems(2000, 10_000)));
    const twoMembers = Buffer.concat([lines, gzipSync(linesOf(noopItems(1, 20_000)))]);
    const headers = { ...NDJSON, 'content-encoding': 'X-GZIP' };
    const added = await client.ask('POST', `/jobs/${job_id}/items`, { body: twoMembers, headers });
    const { received, duplicates } = added.json as AddedAnswer;
    assert.deepEqual([added.status, received, duplicates], [200, 2001, 100]);
    assert.equal((await client.get<JobAnswer>(`/jobs/${job_id}`)).summary.total, 12_001);
    const identity = { ...NDJSON, 'content-encoding': 'identity' };
    const plain = await client.ask('POST', `/jobs/${job_id}/items`, { body: linesOf(noopItems(1)), headers: identity });
    assert.equal(plain.status, 200);
  });

  above('a body in another encoding is refused with what is accepted', async () => {
    const { job_id } = await client.create({ scraper_id: 'example-noop', hold: true });
    const body = brotliCompressSync('{"scraper_id":"example-noop"}');
    for (const [method, path, type] of [
      ['POST', '/jobs', JSON_TYPE],
      ['POST', `/jobs/${job_id}/items`, NDJSON],
    ] as const) {
      for (const encoding of ['br', 'deflate', 'gzip, gzip', 'zstd']) {
        const headers = { ...type, 'content-encoding': encoding };
        const answer = await client.ask(method, path, { body, headers });
        assert.deepEqual([answer.status, answer.headers.get('accept-encoding')], [415, 'gzip, identity']);
        assert.match(answer.text, /unsupported_media_type.*Content-Encoding: gzip/);
      }
    }
    // Small bodies are parsed as a whole.
    const answer = await client.ask('PATCH', `/jobs/${job_id}`, { body, headers: { ...JSON_TYPE, ...GZIP } });
    assert.deepEqual([answer.status, answer.headers.get('accept-encoding')], [415, 'identity']);
  });

  above('a body that is declared as gzip but is not, or is cut off, is refused as such', async () => {
    const { job_id } = await client.create({ scraper_id: 'example-noop', hold: true });
    const whole = gzipSync(linesOf(noopItems(3000)));
    for (const body of [Buffer.from('{}'), whole.subarray(0, whole.length >> 1)]) {
      const jobs = { body, headers: { ...JSON_TYPE, ...GZIP } };
      const { detail } = await client.refused(400, 'malformed_request', 'POST', '/jobs', jobs);
      assert.match(detail, /not complete gzip data/);
      const items = { body, headers: { ...NDJSON, ...GZIP } };
      await client.refused(400, 'malformed_request', 'POST', `/jobs/${job_id}/items`, items);
    }
  });

  above('a body above the limit is refused with the limit, compressed or not, and creates nothing', async () => {
    const job_id = uniqueId('too-large');
    const items = noopItems(20_000).map(({ item_id }) => ({ item_id, input: { filler: 'x'.repeat(200) } }));
    const text = JSON.stringify({ job_id, scraper_id: 'example-noop', items });
    assert.ok(text.length > 3 * MIB);
    const plain = await client.refused(413, 'too_large', 'POST', '/jobs', { body: text, headers: JSON_TYPE });
    assert.match(plain.detail, /larger than 3145728 bytes \(TRAWL_MAX_BODY_BYTES\)/);
    // This body has no length that would reveal its size beforehand.
    const stream = new Blob([text]).stream();
    await client.refused(413, 'too_large', 'POST', '/jobs', { body: stream, headers: JSON_TYPE });
    const packed = { body: gzipSync(text), headers: { ...JSON_TYPE, ...GZIP } };
    assert.match(
      (await client.refused(413, 'too_large', 'POST', '/jobs', packed)).detail,
      /uncompressed body is larger/,
    );
    await client.refused(404, 'job_not_found', 'GET', `/jobs/${job_id}`);
  });

  above('a decompression bomb is unpacked no further than the limit', async () => {
    const { job_id } = await client.create({ scraper_id: 'example-noop', hold: true });
    const bomb = gzipSync(Buffer.alloc(64 * MIB, 0x20));
    assert.ok(bomb.length < 100_000);
    const { detail } = await client.refused(413, 'too_large', 'POST', `/jobs/${job_id}/items`, {
      body: bomb,
      headers: { ...NDJSON, ...GZIP },
    });
    assert.match(detail, /uncompressed body is larger/);
    await client.refused(413, 'too_large', 'POST', '/jobs', { body: bomb, headers: { ...JSON_TYPE, ...GZIP } });
  });
}

function linesOf(items: readonly object[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('');
}
