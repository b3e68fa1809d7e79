import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aboveBackend } from './above-backend.ts';
import { type Client, type Heard, noopItems } from './client.ts';

/** The events of a job, for clients that watch it. */
export function eventCases(client: Client): void {
  const above = aboveBackend(client);
  test('a watcher learns the status of the job, its progress and its end', async () => {
    const items = Array.from({ length: 12 }, (_, n) => ({ item_id: `${n}`, input: { ms: 100 } }));
    const { job_id: jobId } = await client.create({ scraper_id: 'example-slow', items, hold: true });
    const heard: Heard[] = [];
    for await (const each of client.watch(jobId)) {
      if (heard.length === 0) await client.post(`/jobs/${jobId}/start`);
      heard.push(each);
    }
    assert.deepEqual([heard[0]?.event, heard[0]?.data.status], ['status', 'pending']);
    const statuses = heard.filter(({ event }) => event === 'status').map(({ data }) => data.status);
    assert.deepEqual([statuses[0], statuses.at(-1)], ['pending', 'completed']);
    assert.ok(heard.some(({ event, data }) => event === 'progress' && (data.summary?.success ?? 0) < 12));
    const outcomes = heard.flatMap(({ data }) => data.outcomes ?? []);
    assert.deepEqual(
      outcomes.map(({ item_id: id }) => Number(id)).sort((one, other) => one - other),
      items.map((_, n) => n),
    );
    const end = heard.at(-1);
    assert.deepEqual([end?.event, end?.data.status, end?.data.results_ready], ['end', 'completed', true]);
    for (const { data } of heard) if (data.summary) assertSum(data.summary);
  });

  above('a watcher that comes back with the last id continues after it, and misses nothing', async () => {
    const items = Array.from({ length: 30 }, (_, n) => ({ item_id: `${n}`, input: { ms: 60 } }));
    const { job_id: jobId } = await client.create({ scraper_id: 'example-slow', items, hold: true });
    const heard: Heard[] = [];
    let last: string | null = null;
    let isStarted = false;
    // It loses the connection again and again, always after some outcomes.
    for (let visit = 0; visit < 100 && heard.at(-1)?.event !== 'end'; visit += 1) {
      for await (const each of client.watch(jobId, last)) {
        if (!isStarted) await client.post(`/jobs/${jobId}/start`);
        isStarted = true;
        heard.push(each);
        last = each.id ?? last;
        if (each.event === 'items') break;
      }
    }
    const outcomes = heard.flatMap(({ data }) => data.outcomes ?? []);
    assert.deepEqual(
      outcomes.map(({ item_id: id }) => Number(id)).sort((one, other) => one - other),
      items.map((_, n) => n),
    );
    assert.equal(heard.filter(({ event }) => event === 'reset').length, 0);
    const { status } = await client.ask('GET', `/jobs/${jobId}/events`, { headers: { 'last-event-id': last ?? '' } });
    assert.equal(status, 204);
  });

  above('a watcher with an id from an earlier process is asked to list again', async () => {
    const { job_id: jobId } = await client.run({ scraper_id: 'example-noop', items: noopItems(2) });
    const heard: Heard[] = [];
    for await (const each of client.watch(jobId, 'another-life.7-3')) heard.push(each);
    assert.deepEqual([heard[0]?.event, heard.at(-1)?.event], ['reset', 'end']);
  });

  test('a watcher of a job that is deleted learns that it is gone', async () => {
    const { job_id: jobId } = await client.create({ scraper_id: 'example-noop', items: noopItems(2), hold: true });
    const heard: string[] = [];
    for await (const { event } of client.watch(jobId)) {
      if (heard.length === 0) await client.deleteJob(jobId);
      heard.push(event);
    }
    assert.equal(heard.at(-1), 'gone');
  });
}

function assertSum({ total, ...parts }: Record<string, number>): void {
  assert.equal(
    Object.values(parts).reduce((sum, each) => sum + each, 0),
    total,
  );
}
