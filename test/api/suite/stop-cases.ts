import assert from 'node:assert/strict';
import { Agent, get, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { ProblemAnswer } from '../../../src/contract/problem-answer.ts';
import { Client, type Start, uniqueId } from './client.ts';

/** A busy machine takes longer to write an export than a service that stops waits for it. */
const PATIENT_MS = 300_000;

/** How a service ends. */
export function stopCases(start: Start): void {
  test('a service that stops ends its event streams, finishes the exports that it began, and accepts nothing new', async () => {
    const client = await Client.of(await start({ workers: 0 }));
    const job_id = uniqueId('stopping');
    const filler = 'x'.repeat(4000);
    const items = Array.from({ length: 2000 }, (_, n) => ({ item_id: `${n}`, input: { filler } }));
    await client.create({ job_id, scraper_id: 'example-noop', items, hold: true });

    const events = client.watch(job_id);
    assert.equal((await events.next()).value?.event, 'status');
    const { body } = await fetch(`${client.url}/jobs/${job_id}/export`);
    const rows = body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await rows?.read())?.value ?? '';

    const stopped = client.service.stop(PATIENT_MS);
    const rest: string[] = [];
    for await (const { event } of events) rest.push(event);
    assert.ok(!rest.includes('end') && !rest.includes('gone'), rest.join());
    for (let piece = await rows?.read(); piece?.done === false; piece = await rows?.read()) text += piece.value;
    assert.equal(text.trimEnd().split('\n').length, 2000);
    await stopped;
    await assert.rejects(fetch(`${client.url}/health`));
  });

  test('while a service stops, requests are answered with 503 stopping, on old connections and on new ones', async () => {
    const client = await Client.of(await start({ workers: 0 }));
    const job_id = uniqueId('stopping');
    const filler = 'x'.repeat(4000);
    const items = Array.from({ length: 2000 }, (_, n) => ({ item_id: `${n}`, input: { filler } }));
    await client.create({ job_id, scraper_id: 'example-noop', items, hold: true });
    const { hostname, port } = new URL(client.url);
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    const asked = (path: string, agent?: Agent) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        get({ host: hostname, port, path, ...(agent === undefined ? {} : { agent }) }, resolve).on('error', reject);
      });
    assert.equal((await textOf(await asked('/health', kept))).status, 200);
    // An answer that is not read to its end holds the service up.
    const held = await asked(`/jobs/${job_id}/export`);

    const stopped = client.service.stop(PATIENT_MS);
    for (const path of ['/health', '/ready', `/jobs/${job_id}`, '/nothing']) {
      const { status, headers, text } = await textOf(await asked(path, kept));
      assert.deepEqual([status, headers['retry-after'], headers.connection], [503, '2', 'close'], path);
      assert.equal(JSON.parse(text).code, 'stopping');
    }
    const posted = await fetch(`${client.url}/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ scraper_id: 'example-noop' }),
    });
    assert.deepEqual([posted.status, ((await posted.json()) as ProblemAnswer).code], [503, 'stopping']);
    assert.equal((await textOf(held)).text.trimEnd().split('\n').length, 2000);
    await stopped;
    kept.destroy();
    await assert.rejects(fetch(`${client.url}/health`));
  });
}

async function textOf(message: IncomingMessage) {
  let text = '';
  for await (const piece of message.setEncoding('utf8')) text += piece;
  return { status: message.statusCode, headers: message.headers, text };
}
