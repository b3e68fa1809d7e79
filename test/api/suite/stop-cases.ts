import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, type Start, uniqueId } from './client.ts';

/** How a service ends. */
export function stopCases(start: Start): void {
  test('a service that stops ends its event streams, finishes the exports that it began, and takes nothing new', async () => {
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

    const stopped = client.service.stop();
    const rest: string[] = [];
    for await (const { event } of events) rest.push(event);
    assert.ok(!rest.includes('end') && !rest.includes('gone'), rest.join());
    for (let piece = await rows?.read(); piece?.done === false; piece = await rows?.read()) text += piece.value;
    assert.equal(text.trimEnd().split('\n').length, 2000);
    await stopped;
    await assert.rejects(fetch(`${client.url}/health`));
  });
}
